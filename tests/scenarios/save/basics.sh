repository
note 'nothing has changed yet'
run git checkpoint save
note 'a modified, a new, a deleted and an ignored file'
printf 'one\n2\nthree\n' >src/numbers.txt
printf 'new\n' >new.txt
rm README
printf '*.log\n' >.gitignore
printf 'noise\n' >build.log
run git checkpoint save -m 'four at once'
run git checkpoint save
note 'the tree is what git add -A makes of it'
sh_run 'GIT_INDEX_FILE="$WORLD/index" git add -A && GIT_INDEX_FILE="$WORLD/index" git write-tree'
sh_run 'git rev-parse "refs/checkpoints/shadow/$(git rev-parse HEAD)/main^{tree}"'
run git status --short
note 'quiet, and for programs'
printf 'more\n' >>new.txt
run git checkpoint save -q
printf 'more\n' >>new.txt
run git checkpoint save --json
run git checkpoint save --json
note 'on demand, without any change'
run git checkpoint save --allow-empty -m 'still the same' --verify
note 'stock git reads it'
sh_run 'git log --first-parent --format="%s%n%(trailers)" -2 "refs/checkpoints/shadow/$(git rev-parse HEAD)/main"'
