repository
run git checkpoint verify
run git checkpoint verify --show
printf 'a\n' >a.txt
run git checkpoint save -m 'the first one'
run git checkpoint verify --show
printf 'b\n' >a.txt
run git checkpoint save -m 'next'
run git checkpoint verify
run git checkpoint verify @{1}
run git checkpoint verify --json @{0}
printf 'broken\n' >a.txt
run git checkpoint diff
run git checkpoint restore verified
run cat a.txt
note 'taken away, the next save of a person becomes verified'
run git checkpoint verify --reset
run git checkpoint verify --show --json
printf 'c\n' >a.txt
run git checkpoint save -m 'verified again'
run git checkpoint verify --show
