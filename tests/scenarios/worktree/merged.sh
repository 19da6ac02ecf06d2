repository
git checkpoint worktree add -q --create side
git checkpoint worktree add -q --create other
git -C ../repo-wt-side commit -q --allow-empty -m 'for later'
sh_run 'git checkpoint worktree merge -n side'
printf 'ONE\ntwo\nthree\n' >../repo-wt-side/src/numbers.txt
sh_run 'git checkpoint worktree merge side'
git -C ../repo-wt-side commit -qam 'in capitals'
printf 'first\ntwo\nthree\n' >../repo-wt-other/src/numbers.txt
git -C ../repo-wt-other commit -qam 'in words'
sh_run 'git checkpoint worktree merge side'
sh_run 'git checkpoint worktree merge side'
sh_run 'git checkpoint undo'
sh_run 'git checkpoint worktree merge --ff-only other'
sh_run 'git checkpoint worktree merge -n other'
sh_run 'git checkpoint worktree merge other'
sh_run 'git checkpoint worktree merge other'
git merge --abort
sh_run 'git checkpoint worktree merge other --rebase'
git -C ../repo-wt-other rebase --abort
printf 'mine\n' >src/numbers.txt
sh_run 'git checkpoint worktree merge other --squash'
sh_run 'git checkpoint worktree merge main'
git checkout -q src
git merge -q -s ours other
remember
