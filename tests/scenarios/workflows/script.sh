repository
git config diff.autoRefreshIndex false
remember
jq() { sed 's/.*"id":"\([0-9a-f]*\)".*/\1/'; }
export -f jq
printf '#!/bin/sh\nrm -r src\nexit 1\n' >risky-step && chmod +x risky-step
sh_run 'id=$(git checkpoint save --allow-empty --json | jq -r .id) && { ./risky-step || git checkpoint restore "$id"; }'
run ls src
printf 'changed\n' >README
sh_run 'git diff --name-only --relative -z | git checkpoint save --paths-from-file -z'
