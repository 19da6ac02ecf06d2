#!/bin/sh
# Builds and installs git-checkpoint with its manual, then shows its main job on a repository made for it:
# save, a bad edit by an agent, restore, undo. The demo leaves nothing behind. With --demo, it is shown only.
set -eu
cd "$(dirname "$0")/.."

if test "${1-}" != --demo; then
	cargo install --path . --locked
	bin=${CARGO_INSTALL_ROOT:-${CARGO_HOME:-$HOME/.cargo}}/bin
	case :$PATH: in
	*":$bin:"*) ;;
	*)
		echo "note: add '$bin' to your PATH, so that git finds 'git checkpoint'"
		PATH=$bin:$PATH
		;;
	esac
	git checkpoint man --install
fi

demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
cd "$demo"

# Shows a line as it can be pasted, then runs it.
run() {
	printf '\n$ %s\n' "$1"
	eval "$1"
}

printf 'In an empty directory:\n'
run "git init -q . && git config user.name 'Demo' && git config user.email 'demo@example.com'"
run "printf 'fn main() {\n    println!(\"it works\");\n}\n' >main.rs"
run "git add main.rs && git commit -q -m 'a program that works'"
run "echo 'a secret plan' >notes.txt"

printf '\n# A program and an untracked note. Save both before the agent begins:\n'
run "git checkpoint save -m 'before the agent'"

printf '\n# The agent breaks the program, deletes the note and adds a file:\n'
run "printf 'fn main() {\n    pritnln!(\"it wroks\");\n}\n' >main.rs"
run "rm notes.txt && echo TODO >plan-b.rs"
run "git checkpoint save --session demo --agent some-agent -m 'improve main'"
run "git checkpoint list"
run "git checkpoint diff '@{1}' '@{0}'"

printf '\n# Back to what it was:\n'
run "git checkpoint restore '@{1}'"
run "cat main.rs notes.txt"

printf '\n# Or was the plan a good one after all?\n'
run "git checkpoint undo"
run "cat main.rs plan-b.rs"

printf '\n# Git has not noticed any of it but the edits themselves:\n'
run "git status --short"
run "git log --oneline"
