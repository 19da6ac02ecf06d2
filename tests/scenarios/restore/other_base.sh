repository
echo 'a plan' >plan.txt
run git checkpoint save -m 'on the first commit'
old=$(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow/ | head -n 1)
echo 'second' >>README
git commit -q -a -m 'second'
remember
run git checkpoint save -m 'on the second commit'
note 'what differs between the commits comes, too'
run git checkpoint restore "$old"
run git status --short
run git checkpoint undo
run git checkpoint restore --dry-run --json "$old"
run git checkpoint restore "$old" plan.txt
