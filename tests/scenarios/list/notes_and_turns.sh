repository
note 'nothing of this commit yet'
run git checkpoint list --live
printf 'by hand\n' >ideas.txt
git checkpoint save -q -m 'an idea'
for turn in 1 2; do
	git checkpoint session prompt s1 -q --agent claude-code -m "step $turn"
	for edit in a b; do
		tick
		printf 'turn %s, edit %s\n' "$turn" "$edit" >>src/numbers.txt
		git checkpoint save -q --session s1
	done
	git checkpoint session stop s1 -q
done
note 'a tag and a note stand on the row of their checkpoint, also on one within a turn'
git update-ref refs/checkpoints/tags/half-way "$(git rev-parse "$(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow)^")"
tip=$(git for-each-ref --format='%(objectname)' refs/checkpoints/shadow)
noted=$(git cat-file commit "$tip" | sed '/^Checkpoint-Worktree:/a Checkpoint-Note: ask about the second edit' |
	git hash-object -t commit -w --stdin)
git update-ref "$(git for-each-ref --format='%(refname)' refs/checkpoints/shadow)" "$noted"
run git checkpoint list
run git checkpoint show @{0}
note 'before the prompt of a turn, and after it'
run git checkpoint diff --stat s1@1^ s1@1
run git checkpoint restore -n s1@2^
run git checkpoint restore s1@1^
run cat src/numbers.txt
