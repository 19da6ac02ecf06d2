repository
git checkpoint enable -q
run git checkpoint session start 7f3a --agent claude-code
run git checkpoint session list
run git checkpoint session prompt 7f3a -m 'spell the numbers'
printf 'ONE\ntwo\nthree\n' >src/numbers.txt
run git checkpoint session list
run git checkpoint session stop 7f3a
run git checkpoint session list
note 'a unique prefix or the name of the agent is enough'
run git checkpoint session show 7f
run git checkpoint diff --stat claude-code@1
note 'adopt continues a session here; its lines stay its own'
run git checkpoint session adopt 7f3a
run git checkpoint blame src/numbers.txt
note 'finished, and forgotten'
run git checkpoint session end 7f3a
run git checkpoint session list --all
run git checkpoint session forget 7f3a
run git checkpoint session list --all
run git checkpoint undo
run git checkpoint session list --all
note 'mistakes'
run git checkpoint session show 9
run git checkpoint session prompt 9e -m 'who is this'
git checkpoint disable >/dev/null
remember
