# The transcript on the first screen of README.md; tests/manual.rs compares the two.
git init -q -b main .
git config user.name 'Ada'
printf 'def add(a, b):\n    return a + b\n' >calc.py
git add . && git commit -q -m 'add'
git checkpoint enable >/dev/null
printf 'ideas: percent, undo\n' >ideas.txt
remember

# turn <prompt>: the agent changes files between this and 'git checkpoint session stop'.
turn() {
	tick
	git checkpoint session prompt s1 --agent claude-code -q -m "$1" >/dev/null
	tick
}

turn 'add subtraction'
printf '\ndef sub(a, b):\n    return a - b\n' >>calc.py
git checkpoint session stop s1 -q
turn 'simplify everything'
printf 'add = lambda *n: n\n' >calc.py
rm ideas.txt
git checkpoint session stop s1 -q

note 'The agent has added a function. Asked to simplify, it has broken the file and deleted your notes.'
run git checkpoint prompts
run git checkpoint restore s1@2^
run git add calc.py
run git commit -qm 'subtract'
run git checkpoint blame calc.py
