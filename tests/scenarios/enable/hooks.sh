repository
printf '#!/bin/sh\necho "mine: $1"\n' >.git/hooks/commit-msg
chmod +x .git/hooks/commit-msg
cksum <.git/hooks/commit-msg >../before
run git checkpoint enable --dry-run
run git checkpoint enable
run git checkpoint enable
run git commit -q --allow-empty -m 'second'
remember
note 'a hook that does not call us any more is seen'
rm .git/hooks/post-merge
printf '#!/bin/sh\n' >.git/hooks/post-rewrite
chmod +x .git/hooks/post-rewrite
run git checkpoint status
run git checkpoint enable
run git checkpoint disable
cksum <.git/hooks/commit-msg | diff ../before -
run ls .git/hooks --ignore '*.sample'
run git checkpoint disable
note 'not everywhere'
run git checkpoint -C .. enable
git init -q --bare ../bare
run git checkpoint -C ../bare enable
