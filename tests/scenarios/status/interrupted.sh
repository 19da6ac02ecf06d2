repository
printf 'one\n' >a
printf 'one\n' >b
git checkpoint save -q -m 'one'
printf 'two\n' >a
printf 'two\n' >b
(CHECKPOINT_FAILPOINT=restore:after-write git checkpoint restore @{0}) >/dev/null 2>&1
note 'what needs you comes first'
run git checkpoint status
run git checkpoint restore base
run git checkpoint undo
run git checkpoint status
run cat a b
