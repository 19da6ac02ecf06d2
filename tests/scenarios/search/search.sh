repository
git checkpoint enable >/dev/null 2>&1
remember
git checkpoint session prompt s-1 --agent claude-code -q -m 'count up to six, please'
printf 'four\nfive\nsix\n' >>src/numbers.txt
tick
git checkpoint session stop s-1 -q
git checkpoint save -q -m 'numbers up to six'
run git checkpoint note -m 'six is enough'
note 'notes and messages first'
run git checkpoint search six --in notes,subjects,paths
run git checkpoint search -i 'NUMBERS' --in paths
run git checkpoint search -Sfive
sh_run "git checkpoint search --in notes -z enough | tr '\\0' '\\n'"
run git checkpoint search --json -n 1 enough
note 'nothing, and mistakes'
run git checkpoint search seven
run git checkpoint search '('
run git checkpoint search --in code x
run git checkpoint grep six
