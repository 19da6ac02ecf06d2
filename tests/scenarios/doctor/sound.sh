repository
printf 'more\n' >more
remember
run git checkpoint save
run git checkpoint doctor
run git checkpoint doctor --json
note 'a lock that is none of ours'
touch -d @1000000000 .git/refs/checkpoints/history.lock
run git checkpoint doctor
run git checkpoint doctor --fix
rm .git/refs/checkpoints/history.lock
run git checkpoint doctor -q
