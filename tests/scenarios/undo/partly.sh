repository
echo one >src/numbers.txt
echo one >other
run git checkpoint save
echo two >src/numbers.txt
echo two >other
run git checkpoint restore --all @{0}
note 'what was edited since is kept'
echo 'edited since' >other
run git checkpoint undo --dry-run
run git checkpoint undo
