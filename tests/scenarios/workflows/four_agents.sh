git init -q -b main .
printf 'the shop\n\n\n\n\n' >shop.txt
git add .
git commit -q -m 'first'
git checkpoint enable >../log 2>&1
mkdir ../bin
cat >../bin/claude <<'END'
#!/bin/sh
branch=$(git branch --show-current)
git checkpoint session start "s-$branch" --agent claude-code
git checkpoint session prompt "s-$branch" -m "write the $branch"
case $branch in
api) sed -i '2s/.*/prices come from the api/' shop.txt ;;
ui) sed -i '5s/.*/buttons come from the ui/' shop.txt ;;
*) echo "the $branch of the shop" >"$branch.txt" ;;
esac
git checkpoint session stop "s-$branch"
git add .
git commit -q -m "$branch: first version"
git checkpoint session end "s-$branch"
END
sed -i 's/^git checkpoint session [a-z]* .*/& >>..\/log-$branch 2>\&1/' ../bin/claude
chmod +x ../bin/claude
export PATH="$PWD/../bin:$PATH"
sh_run 'for it in api ui docs tests; do git checkpoint worktree add --create "$it"; done'
sh_run 'for it in api ui docs tests; do git checkpoint worktree exec "$it" -- claude & done; wait'
sh_run 'git log -1 --format=%B api'
sh_run 'git checkpoint worktree list'
sh_run 'git checkpoint worktree diff api main'
sh_run 'git checkpoint overlap'
sh_run 'git checkpoint worktree merge api'
sh_run 'git checkpoint worktree merge ui --rebase'
sh_run 'git checkpoint worktree merge docs --squash && git commit -qm '\''describe the shop'\'
sh_run 'git checkpoint worktree merge tests'
sh_run 'git log --format=%s'
sh_run 'git checkpoint blame shop.txt'
sh_run 'for it in api ui docs tests; do git checkpoint worktree remove -q "$it"; done'
remember
