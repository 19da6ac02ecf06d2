repository
printf 'one\n' >src/numbers.txt
run git checkpoint save -m 'my message stays out of the log'
run git checkpoint verify
printf 'two\n' >src/numbers.txt
run git checkpoint save
run git checkpoint restore @{1}
run git checkpoint reset
note 'the operations, and those that undo comes to'
run git checkpoint op log
run git checkpoint undo --list
note 'undo goes further back each time'
run git checkpoint undo --dry-run
run git checkpoint undo
run git checkpoint undo
run cat src/numbers.txt
run git checkpoint undo
run git checkpoint verify --show
note 'and redo forward'
run git checkpoint redo
run git checkpoint redo
run cat src/numbers.txt
run git checkpoint undo --list
note 'a new operation ends that'
run git checkpoint verify --reset
run git checkpoint redo
note 'one operation'
run git checkpoint op show
run git checkpoint op show @{4}
note 'one in the middle'
run git checkpoint op undo @{4}
run git checkpoint op undo @{3}
note 'what has moved since stays'
run git checkpoint reset
printf 'three\n' >src/numbers.txt
run git checkpoint save
run git checkpoint undo
run git checkpoint op show nothing
