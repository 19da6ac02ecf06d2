# The ids of operations differ from run to run: the log has the real time, too.
hide_ids() { sed -E "s/(^@\{[0-9]+\} +|operation |operation '|op undo |Undoes:  |by |since: )[0-9a-f]{8,40}/\1ID/; s/(left to undo: )[0-9a-f]{8,40}/\1ID/"; }
export -f hide_ids
repository
printf 'one\n' >src/numbers.txt
run git checkpoint save -m 'my message stays out of the log'
run git checkpoint verify
printf 'two\n' >src/numbers.txt
run git checkpoint save
run git checkpoint restore @{1}
run git checkpoint reset
note 'all operations, and those that can be taken back'
sh_run 'git checkpoint op log | hide_ids'
sh_run 'git checkpoint undo --list | hide_ids'
note 'undo goes further back each time'
run git checkpoint undo --dry-run
run git checkpoint undo
run git checkpoint undo
run cat src/numbers.txt
run git checkpoint undo
run git checkpoint verify --show
note 'redo goes forward'
run git checkpoint redo
run git checkpoint redo
run cat src/numbers.txt
sh_run 'git checkpoint undo --list | hide_ids'
note 'a new operation leaves nothing to redo'
run git checkpoint verify --reset
run git checkpoint redo
note 'show one operation'
sh_run 'git checkpoint op show | hide_ids'
sh_run 'git checkpoint op show @{4} | hide_ids'
note 'take back one before the last'
run git checkpoint op undo @{1}
sh_run 'git checkpoint op undo @{2} 2>&1 | hide_ids'
note 'a ref that has moved since stays'
run git checkpoint reset
printf 'three\n' >src/numbers.txt
run git checkpoint save
sh_run 'git checkpoint undo 2>&1 | hide_ids'
run git checkpoint op show nothing
