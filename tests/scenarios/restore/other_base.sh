repository
echo 'a plan' >plan.txt
run git checkpoint save -m 'on the first commit'
old=$(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow/ | head -n 1)
echo 'second' >>README
git commit -q -a -m 'second'
remember
run git checkpoint save -m 'on the second commit'
note 'what only commits have changed stays as it is'
run git checkpoint restore "$old"
note 'unless all is asked for'
run git checkpoint restore --all "$old"
run git status --short
run git checkpoint undo
run git checkpoint restore --dry-run --json "$old"
run git checkpoint restore "$old" plan.txt
