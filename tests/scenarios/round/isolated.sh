repository
names=$(mktemp)
# Each random id gets a name of its own, in the order of their appearance.
hide() { sed -E 's/([0-9a-f]{8}-1)-[0-9]+/\1-TIME/; s/(branch agents\/[0-9a-f]{8}: )[0-9a-f]{7,}/\1COMMIT/' | named; }
named() {
	local text line id
	while IFS= read -r line; do
		text=$line
		for id in $(printf '%s\n' "$line" | grep -oE '\b[0-9a-f]{8}\b'); do
			grep -qx "$id" "$names" || printf '%s\n' "$id" >>"$names"
			text=${text//$id/id-$(grep -nx "$id" "$names" | cut -d: -f1)}
		done
		printf '%s\n' "$text"
	done
}
mkdir ../one
printf 'not committed\n' >>src/numbers.txt
note 'an agent gets a copy with a repository of its own, and what is not committed'
sh_run 'git checkpoint round start --context . --workspace ../one --agent agent1 --mode isolated --mirror tracked' | hide
run git -C ../one/.worktree/ctx_1 log --format=%s
run git -C ../one/.worktree/ctx_1 remote
run git status --short
note 'it works there'
printf 'ELEVEN\n' >>../one/.worktree/ctx_1/src/numbers.txt
round=$(git checkpoint round list --json | grep -oE '"round":"[0-9a-f]{8}' | cut -c 10-)
sh_run "git checkpoint round diff --stat $round" | hide
note 'the branch comes here, and the copy is moved aside'
sleep 0.05
sh_run "git checkpoint round end $round" 2>&1 | hide
sh_run "git checkpoint round show $round" | hide
sh_run "git checkpoint round apply $round" 2>&1 | hide
run tail -n 2 src/numbers.txt
rm "$names"
remember
