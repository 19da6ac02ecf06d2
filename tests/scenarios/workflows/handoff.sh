repository
git checkpoint enable -q
git config checkpoint.link none
note 'one agent has begun'
git checkpoint session start 7f3a -q --agent claude-code >/dev/null
git checkpoint session prompt 7f3a -q -m 'write the numbers as words, in lower case'
printf '1: one\ntwo\nthree\n' >src/numbers.txt
git checkpoint session stop 7f3a -q
tick
run git checkpoint session list
run git checkpoint note @ -m 'the names stay in lower case'
note 'another one goes on with the work'
run git checkpoint session handoff claude-code --to codex -o ../brief.md
sh_run "sed 's/at [0-9a-f]*)/at ID)/' ../brief.md"
git checkpoint session start 9b1c -q --agent codex >/dev/null
git checkpoint session prompt 9b1c -q -m 'go on with ../brief.md'
printf '1: one\n2: two\nthree\n' >src/numbers.txt
git checkpoint session stop 9b1c -q
tick
sh_run "git commit -qam 'numbers as words'"
run git checkpoint blame src/numbers.txt
git checkpoint disable >/dev/null
remember
