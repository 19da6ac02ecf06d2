repository
for line in delete remove version search label clean gc restor prompt sesion 'sesion list' 'list --oneline' 'log --graph' \
	'log --stat' 'log -3' 'config set --global x 1' 'config delete k' 'config add k v' 'config --get k' 'config -l' \
	'config save.max-file-size' 'config enabled' 'config foo/bar.toml' 'session delete x' 'op list' 'op redo' 'prune --keep -1' 'prune -3d' 'diff base README' \
	'restore main:README' 'blame HEAD README' 'blame README:1' 'blame README:0' 'man frobnicate' '-q undo' 'save message words' 'save -am words' 'diff --cached' 'restore --hard' 'reset --hard' 'undo 2' \
	'worktree ls' 'worktree rm x' 'worktree lock x' 'worktree add -b foo ../foo' 'worktree add ../foo foo' 'session ls' 'session kill x' \
	'restore --cached' 'enable codex' 'drop --all' 'list HEAD' 'list nothing' 'list --session nope' fsck -3 'restore -3' restore 'diff -w' 'op log --oneline' \
	'worktree exec main ls -l' 'worktree ls x'; do
	sh_run "git checkpoint $line"
done
