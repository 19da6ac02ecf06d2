repository
printf 'four\n' >>src/numbers.txt
git checkpoint save -q --session 7f3a --agent claude-code
git checkpoint session prompt 7f3a -q -m 'go on'
git checkpoint session stop 7f3a -q
run git checkpoint session forget 7f3a
run git checkpoint undo
run git checkpoint redo -n
run git checkpoint redo
