mkdir unborn
cd unborn
git init -q .
run git checkpoint attribution
run git checkpoint explain
run git checkpoint attribution --worktree
