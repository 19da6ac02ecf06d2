# The transcript on the first screen of README.md, which tests/manual.rs compares with this one.
git init -q -b main .
git checkpoint enable >/dev/null
git commit -q --allow-empty -m 'start'
printf 'def add(a, b):\n    return a + b\n' >calc.py
printf 'ideas: percent, undo\n' >ideas.txt

# prompt <text>: a turn begins.
prompt() {
	tick
	git checkpoint session prompt s1 --agent claude-code -q -m "$1" >/dev/null
	tick
}

prompt 'add subtraction'
printf '\ndef sub(a, b):\n    return a - b\n' >>calc.py
git checkpoint session stop s1 -q
prompt 'simplify everything'
printf 'add = lambda *n: n\n' >calc.py
rm ideas.txt
git checkpoint session stop s1 -q

run git checkpoint prompts
run git checkpoint restore s1@1
run git add calc.py
run git commit -qm 'subtract'
remember
sh_run 'git log -1 --format=%B'
run git checkpoint blame calc.py
