repository
run git checkpoint status
printf 'one\n2\nthree\n' >src/numbers.txt
printf 'new\n' >new.txt
run git checkpoint status
run git checkpoint save -m 'by the agent' --session 7f3a --agent claude-code --model some-model
printf '%s\n' again >new.txt
run git checkpoint status
run git checkpoint status --json
note 'the base moves with HEAD'
git add -A && git commit -q -m 'second'
remember
run git checkpoint status
note 'an error is remembered until something works'
git config checkpoint.save.max-file-size 10
head -c 100 /dev/zero >big
remember
run git checkpoint status
git checkout -q --detach
remember
run git checkpoint status
