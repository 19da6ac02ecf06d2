repository
mkdir ../bin ../root
# Stands in for docker: the program sees the system's programs, and of the user's files what is mounted. Where a test may not
# mount anything, it sees all files.
cat >../bin/docker <<'END'
#!/bin/bash
set -e
if test -z "$INSIDE" && unshare --map-root-user --mount true 2>/dev/null; then
	INSIDE=1 exec unshare --map-root-user --mount "$0" "$@"
fi
root=$WORLD/root
bind() {
	mkdir -p "$root$1"
	mount --rbind "$1" "$root$1"
}
test -z "$INSIDE" || mount -t tmpfs root "$root"
while test "$1" != my-image; do
	case $1 in
	source=* | type=*) source=${1#*source=}; test -z "$INSIDE" || bind "${source%%,*}" ;;
	--workdir) folder=$2; shift ;;
	esac
	shift
done
shift
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=Claude GIT_AUTHOR_EMAIL=claude@example.com
export GIT_COMMITTER_NAME=Claude GIT_COMMITTER_EMAIL=claude@example.com
if test -z "$INSIDE"; then
	cd "$folder"
	exec "$@"
fi
for directory in /usr /bin /lib /lib64 /etc /proc "$WORLD/bin" "$PROGRAMS"; do
	test ! -d "$directory" || bind "$directory"
done
mkdir -p "$root/tmp" "$root/dev"
for device in /dev/null /dev/urandom; do
	touch "$root$device"
	mount --bind "$device" "$root$device"
done
HOME=/tmp exec chroot "$root" sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
END
# Stands in for an agent.
cat >../bin/claude <<'END'
#!/bin/sh
printf 'one\nTWO\nthree\n' >src/numbers.txt
git checkpoint save -q -m 'two in upper case'
git commit -qam 'two in upper case'
printf 'one\nTWO\nTHREE\n' >src/numbers.txt
git checkpoint save -q -m 'three, too'
echo 'committed two; three is not committed yet'
END
chmod +x ../bin/docker ../bin/claude
PROGRAMS=$(dirname "$(command -v git-checkpoint)")
export PROGRAMS PATH="$PWD/../bin:$PATH"
note 'what the container must have'
sh_run 'git checkpoint worktree add --create feature/auth'
sh_run 'git checkpoint worktree mounts feature/auth'
note 'the agent works there; its commits and checkpoints are in the repository at once'
sh_run "git checkpoint worktree mounts feature/auth | xargs sh -c 'docker run --rm \"\$@\" my-image claude -p two' sh"
sh_run 'git log --format=%an:%s feature/auth'
sh_run 'git checkpoint worktree list'
sh_run 'git -C ../repo-wt-feature-auth checkpoint list'
sh_run 'git checkpoint worktree diff feature/auth'
note 'done: look at it from outside, take it over, and remove the worktree'
sh_run "git -C ../repo-wt-feature-auth commit -qam 'three, too'"
sh_run 'git merge feature/auth'
sh_run 'git checkpoint worktree remove feature/auth'
remember
