export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
git init -q -b main ../lib
printf 'one\n' >../lib/lib.txt
git -C ../lib add . && git -C ../lib commit -q -m lib
repository
git submodule --quiet add ../lib lib && git commit -q -m 'a submodule'
remember
run git checkpoint save --recurse-submodules -m 'before the agent'
printf 'two\n' >>lib/lib.txt
printf 'new\n' >lib/new.txt
printf 'four\n' >>src/numbers.txt
note 'without the option, submodules stay'
run git checkpoint restore -n @{0}
run git checkpoint restore --recurse-submodules -n @{0}
run git checkpoint restore --recurse-submodules @{0}
run git status --short
note 'an undo goes back at all levels'
run git checkpoint undo
run cat lib/lib.txt
note 'HEAD of a submodule is never moved'
git -C lib add . && git -C lib commit -q -m 'more'
run git checkpoint restore --recurse-submodules @{0}
