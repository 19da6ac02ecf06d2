repository
run git checkpoint events
printf 'a\n' >a.txt
git checkpoint save -q -m 'first'
printf 'b\n' >a.txt
git checkpoint save -q --session 7f3a --agent claude-code -m 'second'
git checkpoint restore -q @{1}
git checkpoint verify -q @{0}
git checkpoint restore nothing 2>/dev/null
git checkpoint reset -q
sh_run 'git checkpoint events | sed "s/^[0-9TZ:.-]*/TIME/; s/duration_ms=[0-9]*/duration_ms=N/"'
sh_run 'git checkpoint events --json | sed "s/\"time\":\"[^\"]*\"/\"time\":TIME/"'
sh_run 'git checkpoint events --since "1 hour ago" | wc -l'
note 'followed until the reader has enough'
sh_run 'git checkpoint events --follow | head -n 1 | cut -d" " -f3'
