repository
printf 'def one():\n    return 1\n\ndef three():\n    return 3\n' >code.py
git add code.py
git commit -qm 'code'
git checkpoint enable -q
git config checkpoint.link none
git checkpoint session prompt s1 -q --agent claude-code -m 'add two'
printf 'def one():\n    return 1\n\ndef two():\n    return 2\n\ndef three():\n    return 3\n' >code.py
git checkpoint save -q --session s1
git checkpoint session stop s1 -q
note 'hunks begin where those of git do'
run git checkpoint diff -p base
run git diff
run git checkpoint diff -p base @{0} -- src
run git checkpoint blame code.py
git -c diff.indentHeuristic=false commit -qam 'two'
remember
run git checkpoint blame code.py
git checkpoint disable >/dev/null
