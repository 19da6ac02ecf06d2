repository
git config checkpoint.save.max-file-size 1k
git config checkpoint.save.max-untracked-files 3
remember
head -c 2000 /dev/zero >big.bin
mkdir many && touch many/1 many/2 many/3 many/4
mkfifo pipe
mkdir nested && git init -q nested
printf 'small\n' >small.txt
run git checkpoint save
run git checkpoint save
run git checkpoint show
note 'a tracked file is never too large'
git add -f big.bin
remember
run git checkpoint save
run git checkpoint diff --name-status @{1} @{0}
