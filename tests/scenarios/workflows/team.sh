git init -q --bare -b main ../server.git
git init -q -b main .
printf 'the shop\n\n\n\n\n' >shop.txt
git add .
git commit -q -m 'first'
git push -q ../server.git main
mkdir ../bin
cat >../bin/claude <<'END'
#!/bin/sh
git checkpoint session start "$2" --agent claude-code
git checkpoint session prompt "$2" -m "write the $2"
case $2 in
api) sed -i '2s/.*/prices come from the api/' shop.txt ;;
ui) sed -i '5s/.*/buttons come from the ui/' shop.txt ;;
esac
git checkpoint session stop "$2"
git checkpoint session end "$2"
END
sed -i 's/^git checkpoint session [a-z]* .*/& >>..\/log-$2 2>\&1/' ../bin/claude
chmod +x ../bin/claude
export PATH="$PWD/../bin:$PATH"
for name in ana ben cy; do
	git clone -q ../server.git "../$name"
	git -C "../$name" config user.name "$name"
	git -C "../$name" config user.email "$name@example.com"
	(cd "../$name" && git checkpoint enable >/dev/null 2>&1)
done
unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
export GIT_EDITOR=:
enter() {
	cd "../$1"
	note "$1"
}
enter ana
sh_run 'git checkpoint remote approve --yes origin'
sh_run 'claude -p api'
sh_run "git commit -qam 'prices'"
sh_run 'git log -1 --format=%B'
sh_run 'git push -q'
sh_run 'git checkpoint sync'
enter ben
sh_run 'git checkpoint remote approve --yes origin'
sh_run 'git switch -qc ui'
sh_run 'claude -p ui'
sh_run "git commit -qam 'buttons'"
sh_run 'git push -q origin ui'
sh_run 'git checkpoint sync'
enter cy
sh_run 'git checkpoint remote approve --yes origin'
sh_run 'git pull -q'
sh_run 'git checkpoint sync'
sh_run 'git merge -q --squash origin/ui'
sh_run "sed -i 's/^the shop/our shop/' shop.txt"
sh_run "git commit -qam 'the shop has buttons'"
sh_run 'git push -q'
sh_run 'git checkpoint sync'
enter ana
sh_run 'git pull -q'
sh_run 'git checkpoint sync'
sh_run 'git checkpoint blame shop.txt'
sh_run 'git checkpoint why shop.txt:5'
