repository
# Ids are of this run alone.
hide() { sed -E 's/\b[0-9a-f]{8}\b/ROUND/; s/\b[0-9a-f]{7}\b/COMMIT/g'; }
mkdir ../ws
note 'two agents work on one task; a program calls its run "sort"'
for agent in one two; do
	git checkpoint round start --context . --workspace ../ws --group sort --agent "$agent" --label "$agent" -q >/dev/null
done
printf 'ONE\nTWO\n' >../ws/.worktree/ctx_1/src/numbers.txt
printf 'a list\n' >../ws/.worktree/ctx_1/src/list.txt
printf 'else\n' >../ws/.worktree/ctx_2/src/numbers.txt
run git checkpoint round diff --stat one
run git checkpoint round diff two
note 'all of it is over; the branches of both stay'
sleep 0.05
sh_run 'git checkpoint round end --group sort' 2>&1 | hide
run git checkpoint round branches --group sort --summary
note 'the first one is the better one'
run git checkpoint round apply --dry-run one
sh_run 'git checkpoint round apply one' 2>&1 | hide
run git status --short
note 'what has changed here is not replaced unasked'
sh_run 'git checkpoint round apply two; echo "[exit $?]"' 2>&1
note 'the branches are not needed any more; the archive has their last commits'
sh_run 'git checkpoint round end --group sort --branches delete' 2>&1 | hide
run git branch
sh_run 'git checkpoint undo' 2>&1 | hide
run git status --short
remember
