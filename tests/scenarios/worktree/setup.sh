repository
hide() { sed -E 's/(restore|checkpoint) [0-9a-f]{7,8}/\1 ID/'; }
cat >.checkpoint.toml <<'END'
[worktree]
setup = ["echo PORT=$GIT_CHECKPOINT_PORT >.env.local", "test -e ../ready"]
teardown = ["echo $GIT_CHECKPOINT_BRANCH ended >ended"]
END
printf '.env.local\n' >.gitignore
git add . && git commit -q -m 'set-up for worktrees'
note 'a project whose committed file has commands: they do not run by themselves'
sh_run 'git checkpoint worktree add --create feature/auth'
run git checkpoint worktree approve
run git checkpoint worktree approve --yes
note 'one fails, and the set-up goes on with it'
run git checkpoint worktree setup feature/auth
touch ../ready
run git checkpoint worktree setup feature/auth
sh_run 'cat ../repo-wt-feature-auth/.env.local' | sed -E 's/=1[0-9]{4}$/=1NNNN/'
run git checkpoint worktree setup feature/auth
sh_run 'git checkpoint worktree add --create other'
run git checkpoint worktree exec other -- sh -c 'echo $GIT_CHECKPOINT_BRANCH'
note 'a commit changes the list'
sed -i 's/"test/"echo new", "test/' .checkpoint.toml
sh_run 'git checkpoint worktree add --create third'
run git checkpoint worktree approve
note 'what the commands before a removal leave is saved, too'
sleep 0.05
sh_run 'git checkpoint worktree remove other' 2>&1 | hide
sh_run 'git checkpoint worktree remove --force other' 2>&1 | hide
run git checkpoint worktree restore other
run cat ../repo-wt-other/ended
remember
