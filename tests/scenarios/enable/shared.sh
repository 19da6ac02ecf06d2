repository
mkdir -p ../home/.codex
git init -q ../other
run git checkpoint enable -q --agent codex
git -C ../other checkpoint enable -q --agent codex
note 'another repository uses the file in the home directory'
run git checkpoint disable
sh_run 'ls -A ../home/.codex'
git checkpoint enable -q --agent codex
run git checkpoint disable --user
sh_run 'ls -A ../home/.codex'
run git checkpoint status
note 'no agent is on this machine'
rmdir ../home/.codex
run git checkpoint enable --all-agents -n
