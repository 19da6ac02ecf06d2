repository
git checkpoint enable >/dev/null
git config checkpoint.link none
git checkpoint session start s1 --agent claude-code --model claude-x --transcript "$WORLD/said.jsonl" >/dev/null
cat >"$WORLD/said.jsonl" <<'END'
{"role":"user","content":"add numbers"}
{"role":"assistant","content":"I add four, which is twice two."}
END
git checkpoint session prompt s1 --message 'add numbers' >/dev/null
printf 'one\ntwo\nthree\nfour = 2 * two\n' >src/numbers.txt
git checkpoint save --session s1 >/dev/null
git checkpoint session stop s1 >/dev/null
note 'not committed yet'
run git checkpoint why src/numbers.txt:4
git add -A
tick
git commit -qm 'numbers'
remember
note 'committed'
sh_run 'git checkpoint why src/numbers.txt:4 | sed "s/^Record:.*/Record:  .../"'
run git checkpoint why src/numbers.txt:1
note 'mistakes'
run git checkpoint why src/numbers.txt
run git checkpoint why src/numbers.txt:100
