repository
git checkpoint save -q
note 'it needs a terminal'
run git checkpoint browse
note 'and so does a restore without a checkpoint'
run git checkpoint restore
run git checkpoint browse --nonsense
sh_run 'git checkpoint browse -h | head -n 14'
