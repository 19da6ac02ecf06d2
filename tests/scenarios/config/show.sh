repository
run git checkpoint config get save.max-file-size
note 'each layer wins over those before it'
mkdir -p "$HOME/.config/git-checkpoint"
printf 'lock-timeout = "1m"\n\n[save]\nmax-file-size = "1 MiB"\n' >"$HOME/.config/git-checkpoint/config.toml"
printf 'lock-timeout = "2m"\nui.pager = "rm -rf ."\n' >.checkpoint.toml
run git checkpoint config get save.max-file-size
run git checkpoint config get --show-origin lock-timeout
run git -c checkpoint.lock-timeout=3m checkpoint config get --show-origin lock-timeout
sh_run 'GIT_CHECKPOINT_LOCK_TIMEOUT=4m git checkpoint -q config get --show-origin lock-timeout'
sh_run 'git -c checkpoint.save.exclude=*.log -c checkpoint.save.exclude=a -C src checkpoint -q config list --show-origin | grep -v ^default'
run git checkpoint -q config get --json save.max-file-size
sh_run 'git checkpoint -q config list --json | cut -c 1-130'
note 'one file alone'
run git checkpoint config list --user
run git checkpoint config get --local lock-timeout
note 'mistakes'
printf 'enabeld = false\njj = true\n' >.checkpoint.toml
run git checkpoint config get jj
printf 'jj = "off"\nlink = 1\n' >.checkpoint.toml
run git checkpoint config get link
run git checkpoint config get lnik
printf 'jj = \n' >.checkpoint.toml
sh_run 'git checkpoint config list | head -n 1'
