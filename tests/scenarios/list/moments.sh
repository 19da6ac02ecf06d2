repository
run git checkpoint enable -q
printf 'four\n' >>src/numbers.txt
run git checkpoint save -m 'count on'
run git commit -qam 'add four'
printf 'notes\n' >ideas.txt
run git checkpoint save -m 'an idea'
printf 'better notes\n' >ideas.txt
run git checkpoint restore @{0}
remember
note 'every moment, with a rule at each commit; a restore is one row, and the user is who did it'
run git checkpoint list
note 'those that are not in the archive: a person'"'"'s own stay on their base'
run git checkpoint list --live
note 'a restore that has nothing to do leaves nothing'
run git checkpoint restore @{0}
run git checkpoint list --live
note 'a checkpoint of before the commit'
run git checkpoint show @{3}
sh_run 'cd src && git checkpoint restore @{3} -- numbers.txt'
git checkpoint disable >/dev/null
