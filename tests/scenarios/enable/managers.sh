repository
note 'committed hooks'
mkdir .githooks
printf '#!/bin/sh\nmake check\n' >.githooks/post-merge
chmod +x .githooks/post-merge
git config core.hooksPath .githooks
remember
run git checkpoint enable
run git checkpoint enable --hook-manager
run git checkpoint enable
run git checkpoint disable
run cat .githooks/post-merge
note 'hooks of all repositories'
mkdir ../hooks
git config core.hooksPath "$WORLD/hooks"
remember
run git checkpoint enable --hook-manager
run git checkpoint disable
note 'lefthook'
git config --unset core.hooksPath
printf 'pre-commit: {}\n' >lefthook.yml
remember
run git checkpoint enable --hook-manager --json
run cat lefthook-local.yml
run git checkpoint disable --json
