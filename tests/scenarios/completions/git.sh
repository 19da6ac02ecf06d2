note "git's own completion calls this function for 'git checkpoint <TAB>'"
complete='eval "$(git checkpoint completions bash)"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _git_checkpoint; echo ${COMPREPLY[@]}'
sh_run "COMP_WORDS=(git checkpoint re); $complete"
sh_run "COMP_WORDS=(git -C . checkpoint restore --dr); $complete"
sh_run "COMP_WORDS=(git checkpoint config g); $complete"
