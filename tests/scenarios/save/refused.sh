note 'the home directory is no project'
cd "$HOME"
git init -q .
printf 'x\n' >x
run git checkpoint save
run git checkpoint save --json
run git checkpoint save --force
