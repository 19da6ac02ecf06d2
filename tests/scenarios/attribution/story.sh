repository
git checkpoint enable >/dev/null
# Commits keep their ids: a record's name in the message would change them.
git config checkpoint.link none
git checkpoint session start s1 --agent claude-code --model claude-x >/dev/null
git checkpoint session prompt s1 --message 'add numbers' >/dev/null
printf 'one\ntwo\nthree\nfour = 2 * two\nfive\n' >src/numbers.txt
printf 'new file\n' >'a b'
git checkpoint save --session s1 >/dev/null
git checkpoint session stop s1 >/dev/null
printf 'one\ntwo\nthree\nfour = 3 * two\nfive\nby hand\n' >src/numbers.txt
note 'not committed yet'
run git checkpoint attribution --worktree
git add -A
tick
git commit -qm 'numbers'
remember
note 'committed'
run git checkpoint attribution
run git checkpoint attribution --stat
run git checkpoint attribution --patch
run git checkpoint attribution --patch --color=always -- src
sh_run 'git checkpoint attribution --porcelain | grep -v ^record'
run git checkpoint attribution --format markdown
run git checkpoint attribution HEAD^..HEAD -- src
note 'a policy'
git config checkpoint.attribution.max-agent-percentage 50
remember
run git checkpoint attribution --stat --check
note 'no record, but a hint'
tick
git commit -q --allow-empty -m 'x

Co-authored-by: Claude <noreply@anthropic.com>'
remember
run git checkpoint attribution
note 'mistakes'
run git checkpoint attribution nothing
run git checkpoint attribution nothing..HEAD
run git checkpoint attribution --patch HEAD^..HEAD
run git checkpoint attribution --format agent-trace --worktree
run git checkpoint attribution --worktree HEAD
run git checkpoint attribution src
note 'a narrow terminal'
git checkpoint session start 5e3f0c52-4f5b-4c3a-9d8a-2f7a8c1b6d10 --agent claude-code --model claude-x >/dev/null
git checkpoint session prompt 5e3f0c52-4f5b-4c3a-9d8a-2f7a8c1b6d10 --message 'go on' >/dev/null
mkdir -p a/directory/with/a/name
printf 'one\ntwo\n' >a/directory/with/a/name/of-some-length.txt
printf 'a\0' >'a b'
printf 'one\n two\nthree\nfour = 3 * two\nfive\nby hand\n' >src/numbers.txt
git checkpoint save --session 5e3f0c52-4f5b-4c3a-9d8a-2f7a8c1b6d10 >/dev/null
run env COLUMNS=40 git checkpoint attribution --worktree
run git checkpoint attribution --worktree
run env COLUMNS=200 git checkpoint attribution --worktree --stat
