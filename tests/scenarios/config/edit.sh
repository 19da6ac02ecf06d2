repository
mine=$HOME/.config/git-checkpoint/config.toml
run git checkpoint config path
run git checkpoint config set lock-timeout 30s
run git checkpoint config set save.exclude '*.log' /tmp/
run git checkpoint config get save.exclude
run cat "$(git checkpoint config path --local)"
run git checkpoint config set --user lock-timeout 1m
note 'comments, order and formatting stay'
printf '# mine\n\n[save] # limits\nmax-file-size   = 1 # byte\n' >"$mine"
run git checkpoint config set --user save.max-file-size '2 MiB'
run git checkpoint config set --user storage session
run git checkpoint config set --user save.max-untracked-files 10
run cat "$mine"
run git checkpoint config unset --user save.max-file-size
run git checkpoint config unset --user save.max-file-size
run git checkpoint config unset --user save.max-file-siz
run git checkpoint config set nosuch 1
note 'nothing is written that could not be read'
run git checkpoint config set --user lock-timeout soon
run git checkpoint config set --user max-file-size 1
run git checkpoint config set --project push.remote elsewhere
run cat "$mine"
test -e .checkpoint.toml && echo '!! the file of the project was made'
note 'by hand'
sh_run "GIT_EDITOR='sed -i s/session/branch/' git checkpoint config edit --user"
sh_run "EDITOR='sed -i s/branch/worktree/' git checkpoint config edit --user"
sh_run 'GIT_EDITOR=false git checkpoint config edit --project'
run test -e .checkpoint.toml
sh_run "GIT_EDITOR='sed -i s/^#link.*/link=\\\"none\\\"/' git checkpoint config edit --project"
sh_run 'git checkpoint config get link; head -n 13 .checkpoint.toml'
note 'elsewhere'
cd "$WORLD" || exit
run git checkpoint config set lock-timeout 1s
run git checkpoint config get --user storage
run git checkpoint config get storage
run git checkpoint config get --user --local storage
