repository
run git checkpoint note
for n in four five; do
	tick
	printf '%s\n' "$n" >>src/numbers.txt
	git checkpoint save -q -m "add $n"
done
run git checkpoint note -m 'five is too many'
sh_run "printf 'tried\n\nand kept\n' | git checkpoint note @{1} -F -"
run git checkpoint note
run git checkpoint note @
run git checkpoint list
run git checkpoint show @{1}
note 'a note that is there, and its end'
run git checkpoint note -m 'five is fine'
run git checkpoint note -f -m 'five is fine'
run git checkpoint note --remove
run git checkpoint note --remove
run git checkpoint undo
run git checkpoint note -f -m ''
run git checkpoint undo
note 'the editor'
export GIT_EDITOR='sed -i "1s/fine/enough/"'
run git checkpoint note --edit
run git checkpoint note @ --json
export GIT_EDITOR=false
run git checkpoint note --edit
note 'git shows notes'
sh_run "git -c notes.displayRef=refs/checkpoints/notes log -1 --format='%s: %N' \$(git checkpoint list --format %H -n 1)"
note 'on a record'
run git checkpoint note HEAD -m x
printf 'six\n' >>src/numbers.txt
git checkpoint enable >/dev/null 2>&1
git checkpoint save -q --agent claude-code --session s1
tick
git commit -q -a -m 'six'
sh_run "git log -1 --format=%b | head -n 1"
run git checkpoint note HEAD -m 'asked for by the team'
tick
git commit -q --amend -m 'six, in other words'
remember
sh_run "git checkpoint explain HEAD | tail -n 6"
run git checkpoint note nothing -m x
run git checkpoint note --list
