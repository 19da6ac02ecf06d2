git init -q -b main .
note 'no commit, no file'
run git checkpoint save
printf 'one\n' >file
run git checkpoint save
run git checkpoint save
