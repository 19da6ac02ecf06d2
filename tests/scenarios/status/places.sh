repository
git checkpoint enable -q --agent claude-code
printf 'four\n' >>src/numbers.txt
printf 'draft\n' >src/draft.txt
run git checkpoint save
printf 'hello, you\n' >README
note 'paths are relative to the current directory, as in git'
sh_run 'cd src && git checkpoint status'
sh_run 'cd src && git -c status.relativePaths=false checkpoint status'
note 'an id is as long as git makes it'
run git -c core.abbrev=12 checkpoint status
run git -c core.abbrev=12 checkpoint list
note 'a linked worktree in which the hooks of an agent are not installed'
run git worktree add -q ../linked -b linked
run git -C ../linked checkpoint status
sh_run 'git checkpoint -C ../linked enable --agent claude-code | head -n 8'
run git -C ../linked checkpoint status
remember
