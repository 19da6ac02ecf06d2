repository
printf 'four\n' >>src/numbers.txt
git commit -qam 'add four'
git tag v1
printf 'five\n' >>src/numbers.txt
printf 'bye\n' >>README
git commit -qam 'add five'
remember
note 'a revision is accepted where a checkpoint is'
run git checkpoint diff --stat HEAD~2 v1
run git checkpoint show v1
run git checkpoint restore v1 -- src
run git checkpoint undo
note 'choose hunks, as git does'
sh_run 'printf "y\nn\n" | git checkpoint restore -p v1'
run git status --short
run git checkpoint undo
note 'what is no revision, either'
run git checkpoint diff v2
