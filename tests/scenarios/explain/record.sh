repository
printf 'one\n2\nthree\n' >src/numbers.txt
git commit -q -am 'two is 2

Checkpoint: 0123456789abcdef'

# Lays a record down by hand.
lay() {
	export GIT_INDEX_FILE=$WORLD/log
	put() {
		git update-index --add --cacheinfo "100644,$(git hash-object -w --stdin),$1"
	}
	local commit parent
	commit=$(git rev-parse HEAD) parent=$(git rev-parse HEAD^)
	put 01/23456789abcdef/record.toml <<-END
		version = 1
		id = "0123456789abcdef"
		revision = 1
		commit = "$commit"
		parent = "$parent"
		tree = "$(git rev-parse 'HEAD^{tree}')"
		seconds = $START_SECONDS
		base = "$parent"
		worktree = "main"
		tool = "0.1.0"

		[counts]
		agent = 1
		human = 0
		mixed = 0
		unknown = 0
		agent-removed = 1
		human-removed = 0

		[[session]]
		id = "7f3a"
		agent = "claude-code"
		model = "some-model"
		turns = [1, 2]
		checkpoints = 3

		[[file]]
		path = "src/numbers.txt"
		before = "$(git rev-parse HEAD^:src/numbers.txt)"
		after = "$(git rev-parse HEAD:src/numbers.txt)"
		sessions = [0]
	END
	put 01/23456789abcdef/sessions/0/prompts.toml <<-'END'
		version = 1

		[[prompt]]
		turn = 1
		seconds = 1748779200
		text = "write digits\nnot words\n\nin all files\nof the project"

		[[prompt]]
		turn = 2
		seconds = 1748779230
		text = "go on \u001b[31m"
	END
	put 01/23456789abcdef/attribution <<-END
		attribution 1
		author 0 agent session=7f3a turn=1 agent=claude-code model=some-model
		file $(git rev-parse HEAD:src/numbers.txt) src/numbers.txt
		2-2 0
		removed 1 0
	END
	put "01/23456789abcdef/links/$commit" <<-'END'
		version = 1
		how = "commit"
	END
	put "commits/${commit:0:2}/${commit:2}" <<<0123456789abcdef
	git update-ref refs/checkpoints/history "$(git commit-tree -m log "$(git write-tree)")"
	unset GIT_INDEX_FILE
}
lay
remember
run git checkpoint explain
run git checkpoint explain --json 0123456789abcdef
run git checkpoint explain 7f3a
run git checkpoint doctor
note 'mistakes'
run git checkpoint explain HEAD^
run git checkpoint explain --json HEAD^
run git checkpoint explain nothing
note 'a message with another trailer'
git commit -q --amend -m 'two is 2

Checkpoint: ffffffffffffffff'
remember
run git checkpoint doctor
run git checkpoint doctor --relink --json
run git checkpoint explain
