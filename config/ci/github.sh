#!/bin/sh
# What the action beside this file runs. Everything from outside comes in variables, none of which becomes a command.
set -eu

remote=${CHECKPOINT_REMOTE:-origin}
set -- ${CHECKPOINT_RANGE:+-- "$CHECKPOINT_RANGE"}
git checkpoint fetch "$remote"

case ${CHECKPOINT_COMMAND:-check} in
check)
	# 1 says that a policy is broken, which the second check says again, as annotations.
	git checkpoint ci check --format markdown "$@" >>"${GITHUB_STEP_SUMMARY:-/dev/null}" || {
		status=$?
		test "$status" = 1 || exit "$status"
	}
	git checkpoint ci check --format github "$@"
	;;
relink)
	incomplete=0
	case ${CHECKPOINT_PULL_REQUEST:-} in
	'' | *[!0-9]*) ;;
	# What was merged: its branch may be gone.
	*) git fetch -q --no-tags "$remote" "refs/pull/$CHECKPOINT_PULL_REQUEST/head" ;;
	esac
	git checkpoint ci relink "$@" || incomplete=$?
	test "$incomplete" -le 1 || exit "$incomplete"
	git checkpoint remote approve "$remote" --yes
	git checkpoint push "$remote"
	exit "$incomplete"
	;;
*)
	echo "git-checkpoint: the command is 'check' or 'relink'" >&2
	exit 129
	;;
esac
