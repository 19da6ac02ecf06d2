repository
mkdir -p d/e && cd d/e
printf 'new\n' >x
run git checkpoint save -m 'in a new directory'
note 'all that is here goes, and here stays'
run git checkpoint restore base .
run ls
run git checkpoint undo
run ls
run git checkpoint blame ../../README
