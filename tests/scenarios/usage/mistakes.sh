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
run git checkpoint init
run git checkpoint op log -3
run git checkpoint save -am x
run git checkpoint save --amend
run git checkpoint reset --hard
run git checkpoint reset @{0}
run git checkpoint status -s
run git checkpoint show --name-only
run git checkpoint verify --clear
note 'only what is close is suggested'
run git checkpoint foo
run git checkpoint lsit
note 'the usage of an error is that of the help'
run git checkpoint diff --nonsense
sh_run 'git checkpoint diff -h | grep -A 4 Usage'
