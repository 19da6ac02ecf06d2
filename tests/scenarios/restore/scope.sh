repository
printf 'agent 1\n' >agent.txt
run git checkpoint save --session 7f3a --agent claude-code -m 'first turn'
printf 'agent 2\n' >agent.txt
run git checkpoint save --session 7f3a --agent claude-code -m 'second turn'
printf 'by hand\n' >src/numbers.txt
note 'what a person changed since is kept'
run git checkpoint restore @{1}
run cat agent.txt src/numbers.txt
note 'unless it is named'
run git checkpoint restore @{2} -- src/numbers.txt
run cat src/numbers.txt
run git checkpoint undo
run cat src/numbers.txt
note 'or all is asked for'
run git checkpoint list
run git checkpoint restore --all --json "$(git checkpoint list --json --grep 'first turn' | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')"
run git status --short
