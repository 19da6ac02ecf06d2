repository
hide() { sed -E 's/restore [0-9a-f]{8}/restore ID/; s/^[0-9a-f]{8}  [^ ]+/ID  TIME/; s/[0-9]{4}-[0-9-]+T[^ ,]+/TIME/'; }
sh_run 'git checkpoint worktree add --create feature/auth'
cd ../repo-wt-feature-auth
printf 'TWO\n' >src/numbers.txt
printf 'key\n' >.env
printf '.env\n' >.gitignore
cd ../repo
sleep 0.05
sh_run 'git checkpoint worktree remove feature/auth'
sh_run 'git checkpoint worktree remove --force feature/auth' 2>&1 | hide
sh_run 'git checkpoint worktree list'
sh_run 'git checkpoint worktree restore --list' | hide
sh_run 'git checkpoint worktree restore feature/auth'
run cat ../repo-wt-feature-auth/.env
sh_run 'git -C ../repo-wt-feature-auth status --short'
note 'its branch is gone meanwhile'
sleep 0.05
sh_run 'git checkpoint -q worktree remove --force feature/auth' 2>&1 | hide
sh_run 'git branch -q -D feature/auth'
sh_run 'git checkpoint worktree restore feature/auth'
sh_run 'git checkpoint worktree move feature/auth ../auth'
note 'one that is gone, and one that is locked'
sh_run 'git checkpoint worktree add -q --create other'
sh_run 'git worktree lock --reason "a usb stick" ../auth'
rm -r ../auth ../repo-wt-other
sh_run 'git checkpoint worktree remove feature/auth'
sh_run 'git checkpoint worktree prune --dry-run'
sh_run 'git checkpoint worktree prune'
sh_run 'git checkpoint worktree prune --removed' | hide
sh_run 'git checkpoint worktree prune'
remember
