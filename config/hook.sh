#!/bin/sh
# Installed by 'git checkpoint enable' and removed by 'git checkpoint disable'.
# The hook that was here before has '.before-checkpoint' after its name: it runs first, and its exit status counts.
_checkpoint_hook='@HOOK@'
_checkpoint_program='@PROGRAM@'
_checkpoint_status=0
_checkpoint_input=

case $0 in
*/*) _checkpoint_before=${0%/*}/$_checkpoint_hook.before-checkpoint ;;
*) _checkpoint_before=./$_checkpoint_hook.before-checkpoint ;;
esac

# One letter for each of these hooks above this one: two tools that call each other's hooks must not do so for ever.
CHECKPOINT_HOOK_DEPTH=${CHECKPOINT_HOOK_DEPTH-}x
export CHECKPOINT_HOOK_DEPTH

# pre-commit calls the hooks it has found, ours among them, and ends with an error if it is called by them.
if [ -f "$_checkpoint_before" ] && [ -x "$_checkpoint_before" ] && [ -z "${PRE_COMMIT_RUNNING_LEGACY-}" ] &&
	[ ${#CHECKPOINT_HOOK_DEPTH} -lt 10 ]; then
	if [ "$_checkpoint_hook" = post-rewrite ]; then
		# Two read the list. The letter keeps the line break at its end.
		_checkpoint_input=$(cat && echo x)
		_checkpoint_input=${_checkpoint_input%x}
		printf %s "$_checkpoint_input" 2>/dev/null | "$_checkpoint_before" "$@"
	else
		"$_checkpoint_before" "$@"
	fi
	_checkpoint_status=$?
fi

case $_checkpoint_hook in
prepare-commit-msg | commit-msg | pre-push) [ "$_checkpoint_status" = 0 ] || exit "$_checkpoint_status" ;;
esac

# A note beside the message says that the program has something to check in it; otherwise, we save the time to start it.
if [ "$_checkpoint_hook" = commit-msg ]; then
	case ${1-} in
	*/*) [ -e "${1%/*}/checkpoint/check-message" ] || exit "$_checkpoint_status" ;;
	esac
fi

# The last argument is 0 if only files were checked out, which is nothing to us.
if [ "$_checkpoint_hook" = post-checkout ] && [ "${3-}" = 0 ]; then
	exit "$_checkpoint_status"
fi

# After most commits of people, we have only to notice that HEAD has moved, which the next command does as well.
if [ "$_checkpoint_hook" = post-commit ] && [ -s "${GIT_DIR:-.git}/checkpoint/followed-later" ]; then
	# The note is for this commit only: empty it without starting a program.
	{ true >"${GIT_DIR:-.git}/checkpoint/followed-later"; } 2>/dev/null && exit "$_checkpoint_status"
fi

if ! [ -x "$_checkpoint_program" ]; then
	command -v git-checkpoint >/dev/null 2>&1 || exit "$_checkpoint_status"
	_checkpoint_program=git-checkpoint
fi
# What is to be sent waits for the end of git, which waits for all that has its pipes.
if [ "$_checkpoint_hook" = pre-push ]; then
	"$_checkpoint_program" hook pre-push "$@" "$PPID" </dev/null >/dev/null 2>&1 &
	exit "$_checkpoint_status"
fi
if [ -n "$_checkpoint_input" ]; then
	printf %s "$_checkpoint_input" 2>/dev/null | "$_checkpoint_program" hook "$_checkpoint_hook" "$@" || :
else
	"$_checkpoint_program" hook "$_checkpoint_hook" "$@" || :
fi
exit "$_checkpoint_status"
