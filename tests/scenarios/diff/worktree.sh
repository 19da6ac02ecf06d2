repository
note 'without a checkpoint: against the base'
printf 'one\n2\nthree\n' >src/numbers.txt
run git checkpoint diff
run git checkpoint save -m 'good' --verify
printf 'untracked\n' >new.txt
run git checkpoint save -m 'next'
printf 'one\n2\n3\n' >src/numbers.txt
rm README
note 'against the verified checkpoint'
run git checkpoint diff --name-status
note 'against another, from a subdirectory'
cd src
run git checkpoint diff --stat @{0} -- .
run git checkpoint diff base -- numbers.txt
note 'a binary file that is not saved yet'
printf 'one\000' >blob
run git checkpoint diff --stat @{0} -- blob
