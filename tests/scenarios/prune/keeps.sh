repository
save() {
	tick
	printf '%s\n' "$1" >ideas.txt
	git checkpoint save -q -m "$1"
}
save one
run git checkpoint verify
run git checkpoint reset
aged "$clock"
note 'a checkpoint that is verified stays, and what undo needs'
save two
save three
run git checkpoint restore @{1}
git checkpoint reset -q
run git checkpoint prune --keep 0 --dry-run
run git checkpoint prune --keep 0
run git checkpoint undo
run git checkpoint undo
run cat ideas.txt
