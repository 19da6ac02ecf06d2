# The ids of operations differ from run to run, and so do the names in the archive: both have the real time.
hide_ids() { sed -E "s/(^@\{[0-9]+\} +|since: )[0-9a-f]{8,40}/\1ID/; s/[0-9]{10}-[0-9a-f]{12}/TIME-ID/"; }
export -f hide_ids
repository
printf 'one\n' >src/numbers.txt
run git checkpoint save
run git checkpoint verify
printf 'two\n' >src/numbers.txt
run git checkpoint save
run git checkpoint reset
printf 'three, unsaved\n' >src/numbers.txt
sh_run 'git checkpoint op log | hide_ids'
note 'back to what all was after the first save'
sh_run 'git checkpoint op restore --dry-run @{3} | hide_ids'
sh_run 'git checkpoint op restore @{3} | hide_ids'
run cat src/numbers.txt
run git checkpoint list
note 'and forward again'
sh_run 'git checkpoint undo | hide_ids'
run cat src/numbers.txt
run git checkpoint verify --show
note 'nothing to do'
run git checkpoint op restore @{0}
run git checkpoint op restore nothing
