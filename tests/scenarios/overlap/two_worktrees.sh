repository
printf '%s\n' one two three four five six seven eight >src/words.txt
git add . && git commit -q -m 'words'
git worktree add -q -b feature ../feature
remember
note 'an agent works in the other worktree'
run git -C ../feature checkpoint session start s1 --agent claude-code
run git -C ../feature checkpoint session prompt s1 -m 'spell the numbers'
printf 'ONE\ntwo\nthree\n' >../feature/src/numbers.txt
printf '%s\n' one two three FOUR five six seven EIGHT >../feature/src/words.txt
printf 'hello, world\n' >../feature/README
run git -C ../feature checkpoint save --session s1
run git checkpoint overlap
note 'the same files are changed here, and not saved'
printf 'Uno\ntwo\nthree\n' >src/numbers.txt
printf '%s\n' one two three four FIVE six seven eight >src/words.txt
rm README
run git checkpoint overlap
run git checkpoint overlap --exit-code --with feature src/words.txt
note 'the same change is no overlap'
printf 'ONE\ntwo\nthree\n' >src/numbers.txt
run git checkpoint overlap -- src/numbers.txt
run git checkpoint overlap --json src/words.txt
run git checkpoint overlap --with nowhere
mv ../feature ../away
run git checkpoint overlap --exit-code
mv ../away ../feature
