repository
git checkpoint enable >/dev/null
git init -q --bare -b main ../server.git
git remote add origin ../server.git
git push -qu origin main
git switch -qc buttons
git checkpoint session prompt s1 --agent claude-code -q -m 'add buttons'
printf 'a button to buy\na button to go back\na button to ask for help\n' >buttons.txt
git checkpoint session stop s1 -q
git add -A
git commit -qm 'buttons'
git push -q origin buttons
git switch -q main
note 'a forge squashes the branch, and deletes it'
git clone -q ../server.git ../forge
tick
(
	cd ../forge
	git config core.hooksPath /dev/null
	git merge -q --squash origin/buttons >/dev/null
	git commit -qm 'buttons (#12)'
	git push -q origin main :buttons
)
git pull -q
git branch -qD buttons
remember
sh_run "git checkpoint blame buttons.txt | sed 's/^[0-9a-f]*/.../'"
sh_run "git checkpoint why buttons.txt:2 | sed 's/^Record:.*/Record: .../; s/^\(Commit: *\)[0-9a-f]*/\1.../'"
