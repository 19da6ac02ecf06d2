#compdef git-checkpoint
#description save the whole worktree at any moment, and get any such moment back

# Completes git-checkpoint; zsh's completion of git calls this function for 'git checkpoint'.
# The program prints the candidates, each on a line with a tab and its description.

_git-checkpoint() {
	local line value files brace word=${(Q)PREFIX} at width=0 ret=1
	local -a directory values abouts shown open open_shown expl
	# Zsh's completion of git has taken the option -C out of the words.
	[[ -n ${opt_args[-C]-} ]] && directory=(git -C ${(Q)opt_args[-C]})
	# For zsh, a brace that is not quoted begins alternatives: it completes the word without the brace, and puts that back itself.
	if [[ ${words[CURRENT]} == '@{'* && $PREFIX == "@${words[CURRENT]#@?}" ]]; then
		brace=1 word=${words[CURRENT]}
	fi
	for line in ${(f)"$(command git-checkpoint completions zsh -- $directory "${(@Q)words[1,CURRENT-1]}" "$word" 2>/dev/null)"}; do
		value=${line%%$'\t'*}
		if [[ -n $value ]]; then
			values+=("$value") abouts+=("${line#*$'\t'}")
			(( $#value > width )) && width=$#value
		elif [[ $line == $'\tfiles' ]]; then
			files=1
		fi
	done
	# One line for each candidate, in the order of the program: _describe would join and sort those with the same description.
	for at in {1..$#values}; do
		(( $#values )) || break
		shown[at]=${values[at]}
		[[ -n ${abouts[at]} ]] && shown[at]="${(r:width:)values[at]}  -- ${abouts[at]}"
		(( COLUMNS > 20 )) && shown[at]=${shown[at][1,COLUMNS-1]}
	done
	if [[ -n $brace ]]; then
		values=("${(@)values/\{/}")
		_wanted -V values expl value compadd -Q -S ' ' -l -d shown -a values && ret=0
	else
		# What ends with a slash is a directory: more follows it.
		for at in {$#values..1}; do
			(( $#values )) || break
			if [[ ${values[at]} == */ ]]; then
				open=("${values[at]}" $open) open_shown=("${shown[at]}" $open_shown)
				values[at]=() shown[at]=()
			fi
		done
		(( $#values )) && _wanted -V values expl value compadd -l -d shown -a values && ret=0
		(( $#open )) && _wanted -V directories expl directory compadd -S '' -l -d open_shown -a open && ret=0
	fi
	[[ -n $files ]] && _files && ret=0
	return ret
}

_git-checkpoint "$@"
