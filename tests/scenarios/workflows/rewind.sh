repository
printf 'parse();\n' >src/parser.rs
sh_run "git checkpoint save -m 'before the agent'"
note 'the agent works'
printf 'parse(); // rewritten\n' >src/parser.rs
printf 'scratch\n' >scratch.txt
sh_run "git checkpoint save -m 'parser rewritten' --agent claude-code --session 7f3a"
sh_run 'git checkpoint list'
sh_run 'git checkpoint diff @{1} @{0}'
sh_run 'git checkpoint status'
note 'back'
sh_run 'git checkpoint restore --dry-run @{1}'
sh_run 'git checkpoint restore @{1}'
sh_run 'git checkpoint diff @{1}'
note 'there and back again'
sh_run 'git checkpoint undo'
sh_run 'git checkpoint redo'
note 'one file only'
printf 'broken\n' >src/parser.rs
git checkpoint save -q
sh_run 'git checkpoint restore @{1} src/parser.rs'
run cat src/parser.rs
note 'git has not noticed'
run git status --short
run git stash list
run git log --oneline
