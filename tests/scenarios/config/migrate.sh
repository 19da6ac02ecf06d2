repository
mine=$HOME/.config/git-checkpoint/config.toml
mkdir -p "${mine%/*}"
printf '# mine\nlock-timeout = "20s"   # long\n\n# no questions\ndisable-multisession-warning = false # asked for\n\n[save]\nexclude = []\n' >"$mine"
printf 'enable-multisession-warning = false\ndisable-multisession-warning = false\n' >.checkpoint.toml
note 'the old name still works, turned round, with one hint'
run git checkpoint config get --show-origin enable-multisession-warning
rm .checkpoint.toml
run git checkpoint config get --show-origin enable-multisession-warning
printf 'enable-multisession-warning = false\ndisable-multisession-warning = false\n' >.checkpoint.toml
git config checkpoint.disableMultisessionWarning yes
run git checkpoint config migrate --dry-run
run git checkpoint config migrate
run cat "$mine" .checkpoint.toml
run diff "$mine.bak" "$mine"
run git config --get-regexp ^checkpoint
remember
note 'a second time there is nothing to do'
run git checkpoint config migrate
run git checkpoint config migrate --json
run git checkpoint config get enable-multisession-warning
note 'what is not ours to write'
run git -c checkpoint.disable-multisession-warning=1 checkpoint config migrate
sh_run 'GIT_CHECKPOINT_DISABLE_MULTISESSION_WARNING=0 git checkpoint config migrate --json'
sh_run 'GIT_CHECKPOINT_DISABLE_MULTISESSION_WARNING=0 git checkpoint config get enable-multisession-warning'
note 'a mistake anywhere changes nothing anywhere'
printf 'disable-multisession-warning = true\n' >.checkpoint.toml
mkdir -p .git/checkpoint
printf '# c\ndisable-multisession-warning = "true"\n' >.git/checkpoint/config.toml
run git checkpoint config migrate
run cat .checkpoint.toml
run git checkpoint config migrate --project
run cat .checkpoint.toml
note 'elsewhere'
cd "$WORLD" || exit
run git checkpoint config migrate
run git checkpoint config migrate --local
