repository
git checkpoint enable >/dev/null
git config checkpoint.link none
git checkpoint session start s1 --agent claude-code --model claude-x >/dev/null
git checkpoint session prompt s1 --message 'add numbers' >/dev/null
printf 'one\ntwo\nthree\nfour = 2 * two\nfive\n' >src/numbers.txt
git checkpoint save --session s1 >/dev/null
git checkpoint session stop s1 >/dev/null
printf 'one\ntwo\nthree\nfour = 3 * two\nfive\nby hand\n' >src/numbers.txt
git add -A
tick
git commit -qm 'numbers'
remember
git checkpoint session prompt s1 --message 'go on' >/dev/null
printf 'one\ntwo\nthree\nfour = 3 * two\nfive\nby hand\nsix\n' >src/numbers.txt
git checkpoint save --session s1 >/dev/null
run git checkpoint blame src/numbers.txt
run git checkpoint blame -L 4,5 --rev HEAD -w src/numbers.txt
run git checkpoint blame --json -L 6,7 src/numbers.txt
run git checkpoint blame --porcelain -L 6,7 src/numbers.txt
note 'mistakes'
run git checkpoint blame nothing
run git checkpoint blame -L 100 src/numbers.txt
run git checkpoint blame --rev nothing src/numbers.txt
run git checkpoint blame -L x src/numbers.txt
run git checkpoint blame -L 1,2 -L 5,x src/numbers.txt
run git checkpoint blame -L /nothing/ src/numbers.txt
note 'a file that no commit has'
printf 'one\ntwo\nthree\n' >new.txt
run git checkpoint blame -L 2,+2 new.txt
run git checkpoint blame -L 2,-2 new.txt
run git checkpoint blame -L 9 new.txt
run git checkpoint blame -L x new.txt
run git checkpoint blame -L 0 new.txt
