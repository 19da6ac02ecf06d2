repository
note 'the first edit of an agent is not verified; what was before it is the start'
printf 'broken\n' >>src/numbers.txt
run git checkpoint save -m 'an edit' --agent claude-code --session 7f3a
run git checkpoint verify --show
run git checkpoint list
run git checkpoint status
run git checkpoint diff
run git checkpoint restore verified
run cat src/numbers.txt
note 'nor is one that follows what a person has saved'
git checkpoint reset -q --force 2>/dev/null
printf 'mine\n' >mine.txt
run git checkpoint save -m 'mine'
printf 'broken\n' >mine.txt
run git checkpoint save -m 'an edit' --agent claude-code --session 7f3a
run git checkpoint list --live
run git checkpoint restore verified
run cat mine.txt
