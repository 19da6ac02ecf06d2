note "git's own completion calls this function for 'git checkpoint <TAB>'; tests/completion.rs has the shells themselves"
complete='eval "$(git checkpoint completions bash)"; COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _git_checkpoint; printf "%s\n" "${COMPREPLY[@]}"'
sh_run "COMP_WORDS=(git checkpoint re); $complete"
sh_run "COMP_WORDS=(git -C . checkpoint restore --dr); $complete"
sh_run "COMP_WORDS=(git checkpoint config g); $complete"
sh_run "COMP_WORDS=(git checkpoint config set transcript.store ''); $complete"
sh_run "COMP_WORDS=(git checkpoint man pr); $complete"
repository
note 'only checkpoints where a commit is refused, and no main worktree where that is'
printf 'x\n' >x && git checkpoint save -q -m one
for line in 'restore ba' 'drop ba' 'verify HE' 'drop mai' 'worktree path mai' 'worktree remove mai' 'drop verif'; do
	sh_run "COMP_WORDS=(git checkpoint $line); $complete"
done
