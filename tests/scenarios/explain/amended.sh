repository
git checkpoint enable -q
git config checkpoint.link none
git checkpoint session prompt s1 -q --agent claude-code -m 'add a line'
printf 'four\n' >>src/numbers.txt
git checkpoint save -q --session s1
git checkpoint session stop s1 -q
tick
git commit -qam 'add four'
tick
git commit -q --amend -m 'count to four'
remember
sh_run 'git checkpoint explain | grep -v ^record'
run git checkpoint attribution
git checkpoint disable >/dev/null
