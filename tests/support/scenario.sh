# What a scenario script may use; read before the script, in the directory of the repository to be.
# shellcheck shell=bash
set -u

clock=$START_SECONDS
# 'git status' must not refresh the index behind the check's back.
export GIT_OPTIONAL_LOCKS=0

# run <command>...: shows the command, what it prints, and its exit code if it is not 0.
run() {
	printf '$ %s\n' "$(words "$@")"
	tick
	"$@" 2>&1 </dev/null
	report $?
}

# sh_run <line>: the same for a line with pipes or redirections.
sh_run() {
	printf '$ %s\n' "$1"
	tick
	bash -c "$1" 2>&1 </dev/null
	report $?
}

report() {
	if test "$1" != 0; then
		printf '[exit %s]\n' "$1"
	fi
}

# Every command happens a minute after the one before.
tick() {
	clock=$((clock + 60))
	export GIT_AUTHOR_DATE="@$clock +0000" GIT_COMMITTER_DATE="@$clock +0000"
}

words() {
	local word line=
	for word; do
		case $word in
		'' | *[!A-Za-z0-9_./:=,@{}+-]*) word="'$word'" ;;
		esac
		line="$line${line:+ }$word"
	done
	printf '%s' "$line"
}

# repository: makes one with two committed files.
repository() {
	git init -q -b main .
	mkdir -p src
	printf 'one\ntwo\nthree\n' >src/numbers.txt
	printf 'hello\n' >README
	git add .
	git commit -q -m 'first'
	remember
}

# aged <seconds>: what was set aside last was set aside at that time.
aged() {
	git for-each-ref --sort=-refname --count=1 --format='%(refname) %(objectname)' refs/checkpoints/archive/ |
		while read -r ref id; do
			git update-ref "refs/checkpoints/archive/$1-${ref##*-}" "$id"
			git update-ref -d "$ref"
		done
}

# note <text>: a line of prose in the transcript.
note() {
	printf '# %s\n' "$*"
}

# remember: what git must find unmoved at the end; call it again after the script itself moved something.
remember() {
	facts >"$WORLD/facts"
}

facts() {
	git symbolic-ref -q HEAD || git rev-parse HEAD
	git for-each-ref --format='%(refname) %(objectname)' | grep -v ' *^refs/checkpoints/' | grep -v '^refs/checkpoints-remote/' | grep -v '^refs/checkpoints/'
	git config --local --list
	cksum <"$(git rev-parse --git-path index)" 2>/dev/null
	git stash list
	find "$(git rev-parse --git-dir)/logs" -type f -exec cksum {} + 2>/dev/null | sort
}

# Runs after every script that made a repository.
check() {
	test -f "$WORLD/facts" || return 0
	cd "$WORLD/repo" || return 1
	facts | diff "$WORLD/facts" - >"$WORLD/moved" || {
		echo '!! HEAD, refs, index, stash, reflogs or config moved:'
		cat "$WORLD/moved"
	}
	git fsck --strict --no-dangling >"$WORLD/fsck" 2>&1 || {
		echo '!! git fsck --strict:'
		cat "$WORLD/fsck"
	}
}
trap check EXIT
