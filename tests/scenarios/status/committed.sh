repository
git checkpoint enable -q
git config checkpoint.link none
git checkpoint session prompt s1 -q --agent claude-code -m 'add a line'
printf 'four\n' >>src/numbers.txt
printf 'draft\n' >draft.txt
git checkpoint save -q --session s1
git checkpoint session stop s1 -q
run git checkpoint status
note 'the user writes that line anew, and commits it'
printf 'one\ntwo\nthree\nvier\n' >src/numbers.txt
git commit -qam 'add vier'
remember
run git checkpoint status
run git checkpoint list
note 'then the rest'
git add draft.txt
git commit -qm 'a draft'
remember
run git checkpoint status
run git checkpoint list --live
git checkpoint disable >/dev/null
