repository
for n in 1 2 3; do
	printf '%s\n' "$n" >>file
	tick
	git checkpoint save -q -m "number $n"
done
git checkpoint tag -q good @{1}
git checkpoint note -q -m 'worth a look' @{1}
remember
note 'what names it goes with it'
run git checkpoint drop --dry-run good
run git checkpoint drop good
run git checkpoint undo
run git checkpoint list
run git checkpoint drop --json good
