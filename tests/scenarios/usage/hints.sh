repository
note 'save says that it does not use the message'
run git checkpoint save -m 'nothing yet'
printf 'new\n' >README
run git checkpoint save -m 'first'
run git checkpoint save --verify -m 'good'
note 'one checkpoint, not a range'
run git checkpoint diff '@{0}..HEAD'
run git checkpoint show '..@{0}'
run git checkpoint restore 'HEAD..@{0}'
note 'the message is that of git'
run git checkpoint blame src
run git blame src
note 'git looks for no other home'
run env -u HOME git checkpoint enable --user --agent codex
run env -u HOME git checkpoint enable --all-agents
note 'the commit of a stash entry has no untracked files'
printf 'new\n' >untracked
git stash -q -u
remember
run git checkpoint restore 'stash@{0}'
git checkout -q README
note 'nothing untracked was stashed'
printf 'newer\n' >README
git stash -q
remember
run git checkpoint restore 'stash@{0}'
git checkout -q README
remember
note 'a range that ends with a turn of a session'
git checkpoint session prompt s1 -q
printf 'newest\n' >README
git checkpoint session stop s1 -q
run git checkpoint diff HEAD..s1@1
run git checkpoint restore HEAD...s1@1
