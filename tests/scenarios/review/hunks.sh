repository
seq 30 >src/numbers.txt
git commit -q -a -m 'numbers'
git checkpoint enable >/dev/null 2>&1
remember
git checkpoint session prompt s1 --agent claude-code -q -m 'write the round numbers as words'
sed -i -e 's/^10$/ten/' -e 's/^20$/twenty/' -e 's/^30$/thirty/' src/numbers.txt
printf 'ten\ntwenty\nthirty\n' >src/words.txt
tick
git checkpoint session stop s1 -q
sed -i 's/^2$/two/' src/numbers.txt
note 'a person has changed line 2; only the work of the session is asked about'
sh_run "printf 'y\nn\nkeep 20, please\nc\n30, too?\nq\n' | git checkpoint review s1"
run git checkpoint review --status
run git checkpoint diff base -- src/numbers.txt
note 'what was taken out comes back'
run git checkpoint undo
run git checkpoint review --status s1@1
note 'for editors'
sh_run "git checkpoint review --json -- src/words.txt"
sh_run "echo '{\"decisions\":[{\"id\":\"0123456789abcdef\",\"verdict\":\"accept\"}]}' | git checkpoint review --decide -"
note 'all of a file'
sh_run "printf 'a\n' | git checkpoint review -- src/words.txt"
run git checkpoint review --status
run git checkpoint undo
git add -A
git commit -q -m 'some numbers'
remember
sh_run "git checkpoint review --status HEAD | sed 's/^commit [0-9a-f]*/commit <id>/'"
sh_run "printf 'n\nq\n' | git checkpoint review HEAD | sed 's/^commit [0-9a-f]*/commit <id>/'"
run git checkpoint review nobody
run git checkpoint review --status -- README
