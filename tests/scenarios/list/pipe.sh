repository
for n in 1 2 3; do
	printf '%s\n' "$n" >file
	git checkpoint save -q
done
note 'a reader that leaves early is no error'
sh_run 'git checkpoint list | head -n 1; echo "${PIPESTATUS[0]}"'
sh_run 'git checkpoint list >/dev/full'
note 'nor does it hide how the command ended'
sh_run '{ sleep 0.2; git checkpoint verify --show; echo "exit $?" >&2; } | true'
sh_run '{ sleep 0.2; git checkpoint reset -q; git checkpoint verify --show --json; echo "exit $?" >&2; } | true'
note 'colour only where it is wanted'
run git checkpoint list -n 1 --color=always
sh_run 'git -c color.checkpoint=always checkpoint list -n 1'
sh_run 'NO_COLOR=1 git -c color.ui=always checkpoint list -n 1'
