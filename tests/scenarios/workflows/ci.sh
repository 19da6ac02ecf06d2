repository
git checkpoint enable >/dev/null
git init -q --bare -b main ../server.git
git remote add origin ../server.git
git push -q origin HEAD:main
git checkpoint remote approve origin --yes >/dev/null 2>&1
note 'policies that all can see'
run git checkpoint config set --project ci.max-agent-percentage 80
run git checkpoint config set --project ci.disclosure-trailers Assisted-by
run git checkpoint config set --project ci.human-paths 'licences/*'
run git add .checkpoint.toml
run git commit -qm 'policies'
git push -q origin HEAD:main
run git checkpoint config set --user commit.disclosure assisted-by
note 'an agent works on a branch, and its records are sent'
git switch -qc topic
git checkpoint session prompt s1 --agent claude-code --model opus-5 -q -m 'count to six'
printf 'four, which follows three\nfive, which follows four\nsix, which follows five\n' >>src/numbers.txt
git checkpoint session stop s1 -q
run git commit -qam 'count to six'
sh_run 'git log -1 --format=%B | sed "s/^Checkpoint: .*/Checkpoint: .../"'
printf 'seven, by hand\n' >>src/numbers.txt
run git commit -qam 'seven'
run git push -q origin topic
run git checkpoint push
note 'the job of a pull request'
git clone -q ../server.git ../job
git -C ../job switch -q topic
cd ../job
run git checkpoint ci check origin/main..HEAD
run git checkpoint fetch
run git checkpoint ci check origin/main..HEAD
sh_run "git checkpoint ci check --human-path 'src/*' --format github origin/main..HEAD | sed 's/::[0-9a-f]*:/::...:/'"
note 'the forge squashes the branch, and writes the message itself; then comes the job after the merge'
git switch -q main
git merge --squash -q topic >/dev/null
git commit -qm 'Count to seven (#1)'
git push -q origin main
run git checkpoint attribution --stat HEAD
run git checkpoint ci relink --merged topic HEAD
run git checkpoint remote approve origin --yes
run git checkpoint push
note 'and at home'
cd ../repo
run git fetch -q
run git checkpoint fetch
run git checkpoint attribution --stat origin/main
remember
