repository
git worktree add -q ../side
git checkpoint enable -q --agent claude-code
remember
sh_run 'cd ../side && git checkpoint status'
sh_run 'cd ../side && git checkpoint enable -q --agent claude-code && git checkpoint doctor'
note "the main worktree's agent needs git's hooks"
sh_run 'cd ../side && git checkpoint disable'
run git checkpoint doctor
note 'the main worktree speaks for all'
run git checkpoint disable
