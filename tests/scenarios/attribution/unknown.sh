repository
printf 'four\n' >>src/numbers.txt
git commit -qam 'four'
git checkpoint enable -q
note 'a commit of a colleague: its record is not here'
printf 'five\n' >>src/numbers.txt
git -c core.hooksPath=/dev/null commit -qam 'five

Checkpoint: 0123456789abcdef'
remember
run git checkpoint attribution --stat --check
run git -c checkpoint.attribution.max-unknown-percentage=100 checkpoint attribution --stat --check
note 'a commit of before git-checkpoint was used'
run git checkpoint attribution --stat --check HEAD^
run git checkpoint blame src/numbers.txt
git checkpoint disable >/dev/null
