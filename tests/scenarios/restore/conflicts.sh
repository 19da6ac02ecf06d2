repository
printf '*.log\n' >.gitignore
printf 'a file\n' >thing
run git checkpoint save -m 'thing is a file'
rm thing && mkdir thing && printf 'x\n' >thing/inside && printf 'ignored\n' >thing/inside.log
run git checkpoint save -m 'thing is a directory'
note 'what no checkpoint holds is in the way'
run git checkpoint restore @{1}
run git checkpoint restore --json @{1}
sh_run 'git checkpoint restore -z --dry-run @{1} | tr "\0" "|"; echo'
rm thing/inside.log
run git checkpoint restore @{1}
run cat thing
note 'mistakes'
run git checkpoint restore
run git checkpoint restore nothing
run git checkpoint restore HEAD~9
run git checkpoint restore @{9}
run git checkpoint restore @{0} -- ../outside
run git checkpoint restore @{0} -- no-such-file
