repository
git checkpoint enable -q --agent claude-code
run git status --short
run git checkpoint save
printf 'four\n' >>src/numbers.txt
run git checkpoint save -m 'four'
run git checkpoint show
cksum <.claude/settings.local.json >../before
git checkout -q .
remember
run git checkpoint restore @{0}
sh_run 'cksum <.claude/settings.local.json | diff ../before - && echo as before'
note 'for the team: no path of this machine in it'
run git checkpoint enable --agent gemini --project
sh_run 'grep -c -e "$WORLD" -e "$HOME" .gemini/settings.json'
sh_run 'grep -o -m1 "git-checkpoint hook --agent gemini" .gemini/settings.json'
run git status --short
run git checkpoint disable
run git status --short
