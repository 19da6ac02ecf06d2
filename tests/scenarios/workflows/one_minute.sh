repository
run git checkpoint save
run git checkpoint save --allow-empty -m 'before the agent'
printf 'one\nthree\n' >src/numbers.txt
rm README
run git checkpoint diff '@{0}'
run git checkpoint diff base
run git checkpoint restore @{0}
run git status --short
run git checkpoint undo
run git status --short
run git checkpoint list
run git checkpoint restore base
