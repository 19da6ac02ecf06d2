repository
git checkpoint session start s1 --agent claude-code >/dev/null
git checkpoint session prompt s1 -m 'spell the numbers' >/dev/null
printf 'ONE\ntwo\nthree\n' >src/numbers.txt
git checkpoint session stop s1 -q
git commit -q -a -m 'spell the numbers'
remember
git checkpoint session prompt s1 -m 'greet the reader
in README' >/dev/null
printf 'hello, reader\n' >>README
printf 'scratch\n' >scratch.txt
git checkpoint session stop s1 -q
git checkpoint session prompt s1 -m 'explain what you did' >/dev/null
git checkpoint session stop s1 -q
note 'turn by turn; the last one has changed nothing'
run git checkpoint prompts
note 'back to before the second prompt'
run git checkpoint restore --before s1@2
run git checkpoint restore --before --all claude-code@1
run git checkpoint prompts nobody
