repository
printf 'one\n2\nthree\n' >src/numbers.txt
git mv README READ.ME
printf 'staged only\n' >staged.txt
git add staged.txt && printf 'and changed\n' >staged.txt
remember
run git checkpoint save -m 'a subject

and a body of
two lines' --session 7f3a --agent claude-code --model some-model
run git checkpoint show
run git checkpoint show --stat @{0}
run git checkpoint show -p @{0}
run git checkpoint show --json
note 'a commit'
run git checkpoint show base
run git checkpoint show --stat HEAD
note 'mistakes'
run git checkpoint show 12345678
run git checkpoint show @{7}
