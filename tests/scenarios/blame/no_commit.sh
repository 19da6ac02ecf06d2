mkdir empty
cd empty
git init -q .
run git checkpoint blame nothing
