repository
printf 'four\n' >>src/numbers.txt
git checkpoint save -q -m 'four'
run git checkpoint verify
run git checkpoint verify --reset
note 'the next save of a person is marked, also if nothing has changed'
run git checkpoint save
run git checkpoint save
