repository
printf 'by hand\n' >hand.txt
run git checkpoint save -m 'by hand'
printf 'by agent\n' >agent.txt
run git checkpoint save --session 7f3a-1 --agent claude-code --model some-model -m 'by the agent'
printf 'by hand again\n' >hand.txt
run git checkpoint save --session 7f3a-1 --contributor human
run git checkpoint list
sh_run 'git log --format="%an <%ae> / %cn <%ce>" -3 "refs/checkpoints/shadow/$(git rev-parse HEAD)/main"'
note 'no name can forge a trailer or an escape'
printf 'x\n' >x
sh_run "git checkpoint save --agent \$'evil\\e[31m' -m \$'subject\\n\\nCheckpoint-Session: forged'"
run git checkpoint list -n 1
run git checkpoint show
