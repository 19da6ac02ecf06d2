repository
printf 'a\n' >a.txt
git checkpoint save -q -m 'a'
sh_run 'git checkpoint reset'
sh_run 'git checkpoint list --archived'
sh_run 'git checkpoint reset --list' | sed 's/  [^ ]*T[^ ]*  /  TIME  /'
sh_run 'git checkpoint reset --restore-archived @{0}'
note 'remove everything'
sh_run 'git checkpoint disable'
sh_run "git for-each-ref --format='delete %(refname)' refs/checkpoints | git update-ref --stdin"
sh_run 'rm -rf "$(git rev-parse --git-common-dir)/checkpoint" "$(git rev-parse --git-dir)/checkpoint"'
run git for-each-ref refs/checkpoints
run git checkpoint list
run git status --short
