repository
for line in delete remove version search tag clean gc restor prompt sesion 'sesion list' 'list --oneline' 'log --graph' \
	'log --stat' 'log -3' 'save message words' 'save -am words' 'diff --cached' 'restore --hard' 'reset --hard' 'undo 2'; do
	sh_run "git checkpoint $line"
done
