repository
branches=$(mktemp)
# Each random id gets a name of its own, in the order of their appearance.
hide() { sed -E 's/restore [0-9a-f]{8}/restore ID/; s/(branch agents\/[0-9a-f]{8}: )[0-9a-f]{7,}/\1COMMIT/' | named; }
named() {
	local text line id
	while IFS= read -r line; do
		text=$line
		for id in $(printf '%s\n' "$line" | grep -oE '\b[0-9a-f]{8}\b'); do
			grep -qx "$id" "$branches" || printf '%s\n' "$id" >>"$branches"
			text=${text//$id/id-$(grep -nx "$id" "$branches" | cut -d: -f1)}
		done
		printf '%s\n' "$text"
	done
}
mkdir ../one ../two
note 'two agents, each with a worktree and a branch of its own'
sh_run 'git checkpoint round start --context . --workspace ../one --agent agent1' | hide
sh_run 'git checkpoint round start --context . --workspace ../two --agent agent2' | hide
printf 'TWO\n' >../one/.worktree/ctx_1/src/numbers.txt
printf 'an idea\n' >../one/.worktree/ctx_1/.checkpoint_scratch/note
run git -C ../one/.worktree/ctx_1 status --short
sh_run 'git checkpoint round list' | hide
sh_run 'git checkpoint round branches' | hide
note 'the first one is done'
first=$(git checkpoint round list --json | grep -oE '"round":"[0-9a-f]{8}' | head -n 1 | cut -c 10-)
second=$(git checkpoint round list --json | grep -oE '"round":"[0-9a-f]{8}' | tail -n 1 | cut -c 10-)
sleep 0.05
sh_run "git checkpoint round end $first" 2>&1 | hide
sh_run "git checkpoint round show $first" | hide
run cat ../one/.scratch_archive/agent1/note
note 'what the other one reads of it'
sh_run "git checkpoint round context $second" | hide
sh_run "git checkpoint round context --restart $second" | hide
note 'work that the branch would not have stays'
run git -C ../two/.worktree/ctx_1 checkout -q --detach
sh_run "git checkpoint round end $second" 2>&1 | hide
rm "$branches"
remember
