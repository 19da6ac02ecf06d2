for shell in bash zsh fish elvish powershell; do
	sh_run "git checkpoint completions $shell | grep -c completions | sed 's/[1-9][0-9]*/some/'"
done
run git checkpoint completions cmd
