export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
git init -q -b main ../lib
printf 'one\n' >../lib/lib.txt
git -C ../lib add . && git -C ../lib commit -q -m lib
repository
git submodule --quiet add ../lib lib && git commit -q -m 'a submodule'
git init -q -b main nested && git -C nested commit -q --allow-empty -m nested
remember
printf 'two\n' >>lib/lib.txt
printf 'new\n' >nested/new
run git checkpoint status
sh_run 'cd src && git checkpoint status'
run git checkpoint save
run git checkpoint save --recurse-submodules
run git checkpoint list
printf 'three\n' >>lib/lib.txt
note 'nothing but the submodule is different'
run git checkpoint restore @{0}
run git checkpoint restore --recurse-submodules @{0}
