# Completes git-checkpoint, and 'git checkpoint' where git's own completion is loaded, which calls _git_checkpoint.
# The program prints the candidates, each on a line with a tab and its description.

_git_checkpoint() {
	# Bash splits words at the characters of $COMP_WORDBREAKS, such as '@' and '='. Join them again as they were typed.
	local rest=${COMP_LINE:0:COMP_POINT} words=() count=0 at piece
	for ((at = 0; at <= COMP_CWORD; at++)); do
		piece=${rest#"${rest%%[![:space:]]*}"}
		if [[ $at == 0 || $piece != "$rest" ]]; then
			words[count++]=
		fi
		rest=$piece
		((at == COMP_CWORD)) || piece=${COMP_WORDS[at]}
		words[count - 1]+=$piece
		rest=${rest#"$piece"}
	done
	# Readline replaces only what follows the last of these characters; if that is '@', it replaces the '@', too.
	local word=${words[count - 1]} last kept
	last=${word##*["$COMP_WORDBREAKS"]}
	if [[ $word == *"@$last" && $last != "$word" ]]; then
		last=@$last
	fi
	kept=${word%"$last"}
	# What the user has quoted by backslashes, as in names with blanks.
	words[count - 1]=${word//\\/}
	local line value about width=0 values=() abouts=() kind=
	while IFS= read -r line; do
		value=${line%%$'\t'*} about=${line#*$'\t'}
		if [[ -z $value ]]; then
			kind=$about
			continue
		fi
		value=${value#"$kept"}
		((${#value} > width)) && width=${#value}
		values+=("$value") abouts+=("$about")
	done < <(command git-checkpoint completions bash -- "${words[@]}" 2>/dev/null)
	# Names of files may have any characters. Readline leaves some of them as they are, so quote all here.
	if [[ $kind == paths ]]; then
		for at in "${!values[@]}"; do
			printf -v value %q "${values[at]}"
			values[at]=$value
		done
	fi
	COMPREPLY=("${values[@]}")
	# Git's own completion adds blanks itself and keeps readline from doing so; undo that. Bash 3 has no compopt.
	if [[ $kind == files ]]; then
		compopt +o nospace -o default -o filenames 2>/dev/null
	elif [[ $kind == paths ]]; then
		compopt +o nospace +o default +o bashdefault -o nosort 2>/dev/null
		# What ends with a slash is a directory: more follows it.
		[[ ${#values[@]} == 1 && ${values[0]} == */ ]] && compopt -o nospace 2>/dev/null
	else
		compopt +o nospace +o default +o bashdefault -o nosort 2>/dev/null
	fi
	# Descriptions are shown only where candidates are listed: of several candidates, bash inserts only what all begin with.
	if ((${#values[@]} > 1)) && [[ $COMP_TYPE != 37 && $COMP_TYPE != 42 ]]; then
		for at in "${!values[@]}"; do
			if [[ ${abouts[at]} ]]; then
				printf -v line "%-${width}s  (%s)" "${values[at]}" "${abouts[at]}"
				((COLUMNS > 20 && ${#line} > COLUMNS - 2)) && line="${line:0:COLUMNS - 6}...)"
				COMPREPLY[at]=$line
			fi
		done
	fi
}

complete -o bashdefault -o default -F _git_checkpoint git-checkpoint
