export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
git init -q -b main ../lib
printf 'one\n' >../lib/lib.txt
git -C ../lib add . && git -C ../lib commit -q -m lib
repository
git submodule --quiet add ../lib lib && git commit -q -m 'a submodule'
remember
note 'a clean submodule is not worth a word'
printf 'four\n' >>src/numbers.txt
run git checkpoint save
printf 'two\n' >>lib/lib.txt
printf 'new\n' >lib/new.txt
git init -q nested && printf 'x\n' >nested/x
run git checkpoint save
run git checkpoint status
note 'with its changes, it is saved as a checkpoint of its own'
run git checkpoint save --recurse-submodules
run git checkpoint save --recurse-submodules
run git -C lib checkpoint list
