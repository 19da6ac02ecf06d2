repository
printf 'token=correct-horse-battery\n' >config.env
tick
git checkpoint save -q -m 'with a secret: correct-horse-battery'
printf 'token=correct-horse-battery\nmore\n' >config.env
tick
git checkpoint save -q -m 'more'
run git checkpoint purge nowhere-to-be-found
sh_run 'echo correct-horse-battery | git checkpoint purge --dry-run -'
note 'without a terminal, --force has to say that it may go'
sh_run 'echo correct-horse-battery | git checkpoint purge -'
note 'the next save would take what the worktree has for new work'
sh_run 'echo correct-horse-battery | git checkpoint purge --force -'
printf 'token=\nmore\n' >config.env
sh_run 'echo correct-horse-battery | git checkpoint purge --stdin --force'
run git checkpoint list
run git checkpoint show @{0} --stat
sh_run 'git cat-file --batch-all-objects --unordered --batch | grep -a -c correct-horse'
note 'what a branch has stays'
printf 'key: tell-nobody\n' >kept
git checkpoint save -q -m 'kept'
git add kept
git commit -q -m 'kept'
remember
printf 'key: tell-nobody\nmine\n' >kept
git checkpoint save -q -m 'mine'
printf 'key:\nmine\n' >kept
sh_run 'echo tell-nobody | git checkpoint purge --stdin --force'
sh_run 'echo tell-nobody | git checkpoint purge --stdin --dry-run --json'
note 'a file with all that is in it'
run git checkpoint purge --path kept
run git checkpoint purge --force --path kept
git show HEAD:kept >kept
run git checkpoint purge --force --path kept
run git checkpoint show @{0} --stat
note 'a checkpoint with all that only it has'
printf 'one\n' >one
git checkpoint save -q -m 'one'
printf 'two\n' >one
git checkpoint save -q -m 'two'
run git checkpoint purge --checkpoint @{1} --dry-run
run git checkpoint purge --checkpoint @{1} --force
note 'mistakes'
run git checkpoint purge
run git checkpoint purge abc
