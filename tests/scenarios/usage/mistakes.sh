note 'a mistake in the command line is 129'
run git checkpoint --nonsense
run git checkpoint list --jso
run git checkpoint save --contributor cat
run git checkpoint restore
run git checkpoint frobnicate
sh_run 'git checkpoint 2>&1 | head -n 2'
note 'what cannot be done is 128'
run git checkpoint -C missing list
run git checkpoint save
git init -q --bare ../bare
run git checkpoint -C ../bare save
repository
note 'a path, and no checkpoint before it'
run git checkpoint restore README
run git checkpoint diff README
run git checkpoint show README
run git checkpoint restore nothing
note 'what git has'
run git checkpoint help
run git checkpoint checkout @{0}
run git checkpoint restore --source=@{0} README
run git checkpoint list -3
run git checkpoint diff --cached
