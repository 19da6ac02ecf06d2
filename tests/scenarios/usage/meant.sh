repository
printf 'new\n' >README
git checkpoint save -q -m 'first'
git checkpoint tag -q release @{0}
git checkpoint verify -q
git branch topic/signup
git checkpoint session prompt 0196b1f2-7c3d --agent claude-code -q
printf 'newer\n' >README
git checkpoint session stop 0196b1f2-7c3d -q
remember
note 'a checkpoint, a tag, a branch'
run git checkpoint show verifed
run git checkpoint restore relaese
run git checkpoint diff topic/singup
run git checkpoint show frobnicate
run git checkpoint restore @{9}
run git checkpoint tag -d relase
note 'a session'
run git checkpoint show claude-cod@1
run git checkpoint prompts 0195b1f2
run git checkpoint session end claud-code
run git checkpoint list --session 0196b1f3
note 'an operation'
run git checkpoint op show 1
run git checkpoint op show 77
note 'a worktree, a page of the manual, a setting'
run git checkpoint worktree path mian
run git checkpoint man lst
run git checkpoint config get transcript.stroe
note 'what git has, mistyped'
for line in chekout delte comit 'op lst' 'restore --sorce=@{0}' 'restore --hrad' 'diff --cachd' 'undo --recurse-submodules'; do
	sh_run "git checkpoint $line"
done
note 'a number'
run git checkpoint list -n x
note 'nothing is found'
run git checkpoint search frobnicate
