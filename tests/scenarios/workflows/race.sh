repository
mkdir ../bin
cat >../bin/agent <<'END'
#!/bin/sh
# Each try has another idea.
case $GIT_CHECKPOINT_NUMBER in
1) printf 'ONE\ntwo\nthree\n' >src/numbers.txt ;;
2) printf 'ONE\nTWO\nTHREE\n' >src/numbers.txt ;;
3) printf 'one, two, three\n' >src/numbers.txt; printf 'a note\n' >NOTES; exit 3 ;;
esac
END
chmod +x ../bin/agent
export PATH="$PWD/../bin:$PATH"
names=$(mktemp)
# Each branch gets a name of its own; times and other ids are of this run alone.
hide() {
	local text id other
	text=$(sed -E 's/ in [0-9]+\.[0-9] s/ in N s/g')
	git checkpoint round list --all --json | grep -oE '"branch":"agents/[0-9a-f]{8}' | cut -d/ -f2 >"$names"
	for other in 3d1e66a0 f028d1c7 9b5c2f4e; do
		read -r id
		text=${text//agents\/$id/agents\/<$other>}
	done <"$names"
	printf '%s\n' "$text" | sed -E 's/(^|[^<0-9a-f])[0-9a-f]{7,8}\b/\1ID/g; s/<([0-9a-f]{8})>/\1/g'
}
note 'one program tries it three times, each in a worktree of its own'
sh_run "git checkpoint round race --count 3 --group upper -- agent 'upper case' | sort" | hide
note 'which try is the best one?'
sh_run "git checkpoint round compare --group upper --test 'grep -q THREE src/numbers.txt'" 2>/dev/null | hide
winner=$(sed -n 2p "$names")
run git checkpoint round diff "agents/$winner" | hide
note 'take it over, look at it, commit it'
sh_run "git checkpoint round apply agents/$winner" | hide
sh_run 'git diff --stat'
sh_run "git commit -qam 'numbers in upper case'"
note 'the branches go; the archive has their last commits'
sh_run 'git checkpoint round end --group upper --branches delete' | hide
run git branch
rm "$names"
remember
