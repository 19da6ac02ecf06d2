repository
for n in 1 2 3; do
	printf '%s\n' "$n" >"file$n.txt"
	run git checkpoint save -m "number $n" --session "s$n" --agent claude-code
done
printf 'by hand\n' >src/hand.txt
run git checkpoint save -m 'by hand'
run git checkpoint list
run git checkpoint log -n 2
run git checkpoint list --session s2
run git checkpoint list --agent claude-code -n 1
run git checkpoint list --grep 'number [12]'
run git checkpoint list --path src
run git checkpoint list file1.txt file3.txt
run git checkpoint list --since @1748779400
run git checkpoint list --until 2025-06-01T12:02:30Z
run git checkpoint list -n 1 --json
note 'nothing found, which is no part of the output'
run git checkpoint list --archived
sh_run 'git checkpoint list --archived 2>/dev/null | wc -l'
sh_run 'git checkpoint reset --list 2>/dev/null | wc -l'
run git checkpoint list --session s9
note 'mistakes'
run git checkpoint list --since whenever
run git checkpoint list --grep '('
