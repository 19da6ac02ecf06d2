repository
for text in one two three; do
	tick
	printf '%s\n' "$text" >ideas.txt
	git checkpoint save -q -m "$text"
done
run git checkpoint drop @{1}
run git checkpoint list
run git checkpoint undo
run git checkpoint list
git checkpoint reset -q
run git checkpoint prune --keep 0
run git checkpoint list
run git checkpoint undo
run git checkpoint list
note 'the settings are no part of it'
printf 'disable-multisession-warning = false\n' >.checkpoint.toml
git checkpoint config migrate -q
sh_run "git checkpoint op log | sed 's,  [0-9a-f]\{8\}  ,  <id>  ,'"
sh_run "git checkpoint undo --list | sed 's,  [0-9a-f]\{8\}  ,  <id>  ,'"
run git checkpoint undo -n
