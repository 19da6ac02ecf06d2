repository
for n in 1 2 3 4; do
	printf '%s\n' "$n" >>file
	tick
	git checkpoint save -q -m "number $n"
done
git checkpoint verify -q @{2}
run git checkpoint drop --dry-run @{1}
run git checkpoint drop @{1}
run git checkpoint list
run git checkpoint drop @{2} verified
run git checkpoint list
note 'nothing else has its content'
printf 'other\n' >file
run git checkpoint drop @{0}
run git checkpoint drop --force @{0} --json
run git checkpoint list
note 'whose lines they are does not change'
git checkpoint session prompt s --agent claude-code -q
printf 'agent\n' >>file
git checkpoint session stop s -q
run git checkpoint drop @{0}
printf 'mine\n' >>file
git checkpoint save -q -m 'mine'
run git checkpoint drop @{1}
run git checkpoint drop HEAD
run git checkpoint drop
