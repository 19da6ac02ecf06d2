repository
for n in 1 2 3; do
	printf '%s\n' "$n" >file
	tick
	git checkpoint save -q -m "number $n"
	git checkpoint verify --reset -q
	git checkpoint reset -q
	aged "$clock"
done
run git checkpoint reset --list
note 'what the settings say counts only without an option'
run git checkpoint prune --keep 3
run git -c checkpoint.archive.keep-days=0 checkpoint prune
run git checkpoint prune --keep 2 --dry-run
run git checkpoint prune --keep 2
run git checkpoint prune --older-than 30s --json --dry-run
note 'mistakes'
run git checkpoint prune --older-than soon
run git checkpoint prune --max-size huge
run git checkpoint prune --keep -1
note 'nothing is left'
run git checkpoint prune --keep 0 -q
run git checkpoint reset --list
