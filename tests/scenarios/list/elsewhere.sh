repository
printf 'new\n' >README
git checkpoint save -q -m 'first'
git worktree add -q ../other
remember
note 'a new worktree has no checkpoint, the repository has'
run git -C ../other checkpoint list
run git -C ../other checkpoint list --all-worktrees
