repository
run git checkpoint tag
for n in four five six; do
	tick
	printf '%s\n' "$n" >>src/numbers.txt
	git checkpoint save -q -m "add $n"
done
run git checkpoint tag before-refactoring
run git checkpoint tag try/1 @{2}
run git checkpoint tag try/2 @{1}
run git checkpoint tag
run git checkpoint list
run git checkpoint list --tag 'try/*' --format '%h %s%d'
run git checkpoint diff --stat try/1 before-refactoring
note 'a name that is taken, and its move'
run git checkpoint tag try/1
run git checkpoint tag -f try/1 @{0}
run git checkpoint undo
note 'deleted, and back'
run git checkpoint tag -d try/1 try/3 try/2
run git checkpoint tag --list 'try/*'
run git checkpoint undo
run git checkpoint tag --list 'try/*'
note 'names that mean something else'
run git checkpoint tag verified
run git checkpoint tag deadbeef
run git checkpoint tag 'two words'
run git checkpoint tag first HEAD
note 'for programs'
run git checkpoint tag --json last
run git checkpoint tag --json --list last
run git checkpoint tag --json -d last
note 'a prune does not drop what has a tag'
run git checkpoint reset
run git checkpoint prune --keep 0
run git checkpoint list
run git checkpoint list --tag '*'
run git checkpoint restore --all try/1
run cat src/numbers.txt
