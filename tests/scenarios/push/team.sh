repository
git checkpoint enable >/dev/null
git init -q --bare -b main ../server.git
git remote add origin ../server.git
git push -q origin HEAD
remember
note 'nothing is sent without consent'
run git checkpoint push
run git checkpoint remote
run git checkpoint remote approve origin --yes
run git checkpoint push
note 'an agent works, and its record is shared'
git checkpoint session prompt s1 --agent claude-code -q -m 'add numbers'
printf 'four\n' >>src/numbers.txt
git checkpoint session stop s1 -q
git add -A
git commit -qm 'numbers'
run git checkpoint push --dry-run
run git checkpoint push
run git checkpoint push
git push -q origin HEAD
remember
note 'a clone'
git clone -q ../server.git ../clone
sh_run "git -C ../clone checkpoint blame src/numbers.txt 2>&1 | sed 's/record [0-9a-f]*/record .../; s/^[0-9a-f]* /... /'"
run git -C ../clone checkpoint fetch
run git -C ../clone checkpoint fetch
sh_run "git -C ../clone checkpoint blame src/numbers.txt | sed 's/^[0-9a-f]*/.../'"
run git -C ../clone checkpoint sync
run git -C ../clone checkpoint remote approve origin --yes
run git -C ../clone checkpoint sync
note 'git rewrites a commit before it is pushed'
git checkpoint session prompt s1 -q -m 'add more'
printf 'five\nsix\n' >>src/numbers.txt
git checkpoint session stop s1 -q
git commit -qam 'more numbers'
sed -i 's/^five$/5/' src/numbers.txt
git commit -qa --amend --no-edit
git push -q origin HEAD
remember
run git checkpoint push
run git checkpoint push
git -C ../clone pull -q
run git -C ../clone checkpoint fetch
sh_run "git -C ../clone checkpoint blame src/numbers.txt | sed 's/^[0-9a-f]*/.../'"
note 'another remote, for records alone'
run git checkpoint remote add team ../records.git
run git checkpoint remote list
run git checkpoint push team
run git checkpoint remote remove team
run git checkpoint remote remove --dry-run origin
run git checkpoint remote remove --yes origin
