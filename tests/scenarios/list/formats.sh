repository
printf 'by hand\n' >ideas.txt
git checkpoint save -q -m 'an idea'
tick
printf 'four\n' >>src/numbers.txt
git checkpoint save -q -m 'add four' --session s1 --agent claude-code
git checkpoint tag -q four
run git checkpoint list --format '%gd %h %cI %s%d'
run git checkpoint list --format '%(contributor) %(agent) %(session): %s [%(marks)]'
sh_run "git checkpoint list --format '%s%x00' | tr '\\0' ';'"
note 'mistakes'
run git checkpoint list --format '%(author) %s'
run git checkpoint list --format oneline
run git checkpoint list --format '%h' --json
note 'nothing passes'
run git checkpoint list --tag 'five'
run git checkpoint list --grep 'five'
run git checkpoint list --since 2099-01-01 --format '%h'
