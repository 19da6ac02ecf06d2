repository
printf 'staged\n' >src/numbers.txt
git add src/numbers.txt
printf 'and more\n' >>src/numbers.txt
remember
run git checkpoint save --verify -m 'half staged'
git reset -q --hard
remember
note 'the files only'
run git checkpoint restore @{0}
run git status --short
run git checkpoint undo
note 'the index too'
run git checkpoint restore --staged "$(git rev-parse "$(git rev-parse refs/checkpoints/verified/main)")"
run git status --short
run git diff --cached --stat
remember
