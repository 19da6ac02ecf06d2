#!/bin/sh
# Runs what is in config/ci as GitHub and GitLab do: in clones that they make, with the variables that they set. The forge is a bare
# repository, with its merges made in a clone without hooks. Takes the directory of the sources; needs an empty directory, in which it
# runs, and git-checkpoint on the PATH.
set -eu
sources=$1
top=$PWD

fail() {
	echo "tests/ci.sh: $*" >&2
	exit 1
}

# expect <status> <command>...: the command must end so; what it prints is in the file 'said'.
expect() {
	wanted=$1
	shift
	status=0
	"$@" >"$top/said" 2>&1 || status=$?
	test "$status" = "$wanted" || {
		cat "$top/said" >&2
		fail "'$*' has ended with $status, not with $wanted"
	}
}

# says <text>: what the last command has printed has that text.
says() {
	grep -qF -- "$1" "$top/said" || {
		cat "$top/said" >&2
		fail "this lacks '$1'"
	}
}

# An agent writes three lines to the file $2 in its session $1.
turn() {
	git checkpoint session prompt "$1" --agent claude-code --model opus-5 -q -m please
	printf '%s\n' "first line of $1" "second line of $1" "third line of $1" >>"$2"
	git checkpoint session stop "$1" -q
}

# A forge with one request, number 7, and its records.
forge() {
	rm -rf "$top/forge" && mkdir "$top/forge" && cd "$top/forge"
	git init -q --bare -b main origin.git
	git clone -q origin.git dev 2>/dev/null
	cd dev
	git checkpoint enable >/dev/null
	seq 1 8 >f
	git add f
	git commit -qm base
	git push -q origin HEAD:main
	git switch -qc topic
	turn s1 f
	git add -A
	git commit -qm 'topic: one'
	turn s2 f
	turn s2 g
	git add -A
	git commit -qm 'topic: two'
	echo 'by hand, and not by an agent' >>g
	git commit -qam 'topic: by hand'
	git push -q origin topic topic:refs/pull/7/head topic:refs/merge-requests/7/head
	git checkpoint remote approve origin --yes -q
	git checkpoint push -q
	base=$(git rev-parse main 2>/dev/null || git rev-parse origin/main)
	head=$(git rev-parse topic)
	cd ..
	git clone -q origin.git web
	cd web
	git switch -q --detach origin/main
	git merge -q --no-ff -m "Merge $head into $base" origin/topic
	git push -q origin HEAD:refs/pull/7/merge
	git switch -q main
	cd ..
}

# The button for a squash, with the title of the request alone; the branch is deleted.
squash() {
	cd web
	git merge -q --squash origin/topic >/dev/null
	git commit -qm "$1"
	git push -q origin main :topic
	merged=$(git rev-parse HEAD)
	cd ..
}

# A teammate, whose clone never had the branch, sees whose lines they are.
teammate() {
	git clone -q "file://$PWD/origin.git" late
	cd late
	git checkpoint fetch -q
	expect 0 git checkpoint attribution --porcelain HEAD
	says "summary agent_lines 9"
	says "summary human_added 1"
	says "summary unknown 0"
	git fsck --strict --no-dangling 2>"$top/said" || fail 'the clone is not sound'
	cd ..
}

# What actions/checkout does: $1 is the depth, $2 the ref, $3 what it is checked out as.
checkout() {
	rm -rf job && git init -q job && cd job
	git remote add origin "file://$top/forge/origin.git"
	if test "$1" = 0; then
		git fetch -q --no-tags origin '+refs/heads/*:refs/remotes/origin/*' "+$2:$3"
	else
		git fetch -q --no-tags --depth="$1" origin "+$2:$3"
	fi
	git checkout -q --detach "$3"
}

github() {
	forge
	export GITHUB_ACTIONS=true GITHUB_EVENT_PATH="$top/event.json" GITHUB_STEP_SUMMARY="$top/summary" GITHUB_BASE_REF=main
	export CHECKPOINT_COMMAND=check CHECKPOINT_RANGE= CHECKPOINT_REMOTE=origin CHECKPOINT_PULL_REQUEST=7
	cat >"$top/event.json" <<-END
		{"action": "opened", "pull_request": {"number": 7, "merged": false, "merge_commit_sha": null,
		"base": {"ref": "main", "sha": "$base"}, "head": {"ref": "topic", "sha": "$head"}}}
	END
	checkout 0 refs/pull/7/merge refs/remotes/pull/7/merge
	expect 128 git checkpoint ci check
	says "git checkpoint fetch"
	: >"$top/summary"
	expect 0 "$sources/config/ci/github.sh"
	grep -qF '**No policy is broken**: 90.0 % agent of 10 committed lines, 3 commits' "$top/summary" || fail 'summary'
	export GIT_CHECKPOINT_CI_MAX_AGENT_PERCENTAGE=50 GIT_CHECKPOINT_CI_HUMAN_PATHS=g
	: >"$top/summary"
	expect 1 "$sources/config/ci/github.sh"
	says '::error file=g,line=1,title=human-paths::'
	says '::error file=f,line=12,title=max-agent-percentage::'
	grep -qF '**Policies are broken**' "$top/summary" || fail 'summary'
	unset GIT_CHECKPOINT_CI_MAX_AGENT_PERCENTAGE GIT_CHECKPOINT_CI_HUMAN_PATHS
	cd ..
	checkout 1 refs/pull/7/merge refs/remotes/pull/7/merge
	expect 128 "$sources/config/ci/github.sh"
	says 'fetch-depth: 0'
	cd ..

	squash 'Topic (#7)'
	cat >"$top/event.json" <<-END
		{"action": "closed", "pull_request": {"number": 7, "merged": true, "merge_commit_sha": "$merged",
		"base": {"ref": "main", "sha": "$base"}, "head": {"ref": "topic", "sha": "$head"}}}
	END
	export CHECKPOINT_COMMAND=relink
	checkout 0 refs/heads/main refs/remotes/origin/main
	expect 0 "$sources/config/ci/github.sh"
	says 'its record was written, from 2 records (by merged)'
	expect 0 "$sources/config/ci/github.sh"
	says 'has a record'
	export CHECKPOINT_COMMAND='check; echo'
	expect 129 "$sources/config/ci/github.sh"
	cd ..
	teammate
	unset GITHUB_ACTIONS GITHUB_EVENT_PATH GITHUB_STEP_SUMMARY GITHUB_BASE_REF
}

# The lines of the script of the job $1, as the runner's shell gets them.
job() {
	echo 'set -eu'
	awk -v job=".$1:" '$0 == job { mine = 1; next } /^[^ ]/ { mine = 0 } mine && /^  [a-z]/ { script = /^  script:/ }
		mine && script && /^    - / { print substr($0, 7) }' "$sources/config/ci/gitlab.yml"
}

gitlab() {
	forge
	export GITLAB_CI=true CI_COMMIT_SHA="$head" CI_MERGE_REQUEST_DIFF_BASE_SHA="$base"
	export CI_COMMIT_BEFORE_SHA=0000000000000000000000000000000000000000
	job git-checkpoint-check >"$top/check.sh"
	job git-checkpoint-relink >"$top/relink.sh"
	test "$(wc -l <"$top/check.sh")" -gt 3 && test "$(wc -l <"$top/relink.sh")" -gt 8 || fail 'the template has no scripts'
	checkout 0 refs/merge-requests/7/head refs/pipelines/1
	expect 0 sh "$top/check.sh"
	says 'CI_MERGE_REQUEST_DIFF_BASE_SHA'
	test "$(cat gl-code-quality-report.json)" = '[]' || fail 'report'
	export GIT_CHECKPOINT_CI_REVIEW_TRAILERS=Reviewed-by
	expect 1 sh "$top/check.sh"
	says "no trailer 'Reviewed-by'"
	grep -q '"fingerprint":' gl-code-quality-report.json || fail 'report'
	unset GIT_CHECKPOINT_CI_REVIEW_TRAILERS
	cd ..
	# GitLab's default.
	checkout 1 refs/merge-requests/7/head refs/pipelines/1
	expect 128 sh "$top/check.sh"
	says 'GIT_DEPTH: 0'
	cd ..

	squash 'Topic

See merge request group/project!7'
	unset CI_MERGE_REQUEST_DIFF_BASE_SHA
	export CI_COMMIT_SHA="$merged" CI_COMMIT_BEFORE_SHA="$base"
	checkout 0 refs/heads/main refs/pipelines/2
	expect 0 sh "$top/relink.sh"
	says 'its record was written, from 2 records'
	cd ..
	teammate
}

github
gitlab
