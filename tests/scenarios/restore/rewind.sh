repository
printf 'a plan\n' >notes.txt
run git checkpoint save -m 'before the agent'
note 'the agent edits, deletes and adds'
printf 'one\n' >src/numbers.txt
rm notes.txt
mkdir lib && printf 'mess\n' >lib/mess.txt
run git checkpoint save --session 7f3a --agent claude-code -m 'a bad edit'
run git checkpoint restore --dry-run @{1}
run git checkpoint restore @{1}
run cat src/numbers.txt notes.txt
run ls
run git status --short
run git checkpoint list
note 'nothing more to do'
run git checkpoint restore verified
note 'the base is a target too'
run git checkpoint restore base
run git status --short
run git checkpoint undo
run git status --short
