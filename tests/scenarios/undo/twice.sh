repository
note 'nothing to undo yet'
run git checkpoint undo
printf 'one\n' >src/numbers.txt
run git checkpoint save -m 'one'
printf 'two\n' >src/numbers.txt
run git checkpoint save -m 'two'
run git checkpoint restore @{1}
run cat src/numbers.txt
run git checkpoint undo --dry-run
run git checkpoint undo
run cat src/numbers.txt
note 'an undo can be taken back'
run git checkpoint redo
run cat src/numbers.txt
note 'what was edited since is kept'
printf 'edited since\n' >src/numbers.txt
run git checkpoint undo
run cat src/numbers.txt
sh_run "git checkpoint undo --all --json | sed 's/\"operation\":\"[0-9a-f]*/\"operation\":\"ID/'"
run cat src/numbers.txt
note 'nothing is left to undo'
run git checkpoint undo
