repository
sh_run 'git checkpoint enable'
note 'one session, from prompt to commit'
sh_run 'git checkpoint session start s1 --agent claude-code'
sh_run "git checkpoint session prompt s1 -m 'spell the numbers'"
printf 'ONE\ntwo\nthree\n' >src/numbers.txt
sh_run 'git checkpoint session stop s1'
printf 'hello, you\n' >>README
sh_run "git commit -qam 'spell the numbers'"
sh_run 'git log -1 --format=%B'
sh_run 'git checkpoint explain HEAD'
note 'put aside'
sh_run "git checkpoint session prompt s1 -m 'now the second'"
printf 'ONE\nTWO\nthree\n' >src/numbers.txt
sh_run 'git checkpoint session stop s1'
sh_run 'git stash -q'
sh_run "git checkpoint session prompt s2 -m 'write a licence'"
printf 'do what you want\n' >LICENCE
sh_run 'git checkpoint session stop s2'
sh_run 'git stash pop -q'
sh_run 'git add LICENCE'
sh_run "git commit -qam 'both'"
sh_run 'git checkpoint explain HEAD'
sh_run 'git checkpoint session list --all | sort'
sh_run 'git checkpoint disable'
remember
