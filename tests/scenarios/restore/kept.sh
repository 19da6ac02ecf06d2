repository
echo agent >>src/numbers.txt
run git checkpoint save --session 7f3a --agent claude-code -m 'first turn'
echo 'by hand' >>src/numbers.txt
note 'the only difference is a change by a human: the restore keeps it and fails'
run git checkpoint restore @{0}
note 'it has left nothing'
run git checkpoint list
run git checkpoint restore --dry-run @{0}
run git checkpoint restore --json @{0}
run git checkpoint restore --all @{0}
echo 'by hand again' >>src/numbers.txt
run git checkpoint undo
run git checkpoint undo --all
note 'what --all does not take is not promised'
git init -q src/nested
rm src/numbers.txt
mkdir src/numbers.txt
git -C src/numbers.txt init -q
run git checkpoint restore --dry-run @{0}
