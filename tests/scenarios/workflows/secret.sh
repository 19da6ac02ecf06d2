repository
printf 'secret.txt\n' >>.git/info/exclude
printf 'correct-horse-battery\n' >secret.txt
printf 'token=correct-horse-battery\n' >config.env
git checkpoint save -q -m 'with a secret'
printf 'token=\n' >config.env
sh_run 'git checkpoint purge --dry-run --stdin <secret.txt'
sh_run 'git checkpoint purge --force --stdin <secret.txt'
run git checkpoint purge --force --path config.env
printf 'config.env\n' >>.git/info/exclude
sh_run 'git checkpoint purge --force --path config.env'
run git checkpoint list
