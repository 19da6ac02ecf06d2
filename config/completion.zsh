#compdef git-checkpoint
#description save the whole worktree at any moment, and get any such moment back

# Completes git-checkpoint; zsh's completion of git calls this function for 'git checkpoint'.
# The program prints the candidates, each on a line with a tab and its description.

_git-checkpoint() {
	local line value about files
	local -a directory candidates
	# Zsh's completion of git has taken the option -C out of the words.
	[[ -n ${opt_args[-C]-} ]] && directory=(-C ${(Q)opt_args[-C]})
	for line in ${(f)"$(command git-checkpoint $directory completions zsh -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)"}; do
		value=${line%%$'\t'*} about=${${line#*$'\t'}//\\/\\\\}
		if [[ -z $value ]]; then
			files=$about
		else
			value=${${value//\\/\\\\}//:/\\:}
			candidates+=("$value${about:+:$about}")
		fi
	done
	local ret=1
	(( $#candidates )) && _describe -V -t values value candidates && ret=0
	[[ -n $files ]] && _files && ret=0
	return ret
}

_git-checkpoint "$@"
