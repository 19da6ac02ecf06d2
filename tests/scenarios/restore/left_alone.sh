repository
git config checkpoint.save.max-file-size 1k
printf '*.log\n' >.gitignore
git add .gitignore && git commit -q -m 'ignore logs'
remember
run git checkpoint save --allow-empty -m 'clean'
printf 'new\n' >src/new.txt
head -c 2000 /dev/zero >src/big.bin
printf 'noise\n' >src/noise.log
git init -q src/nested
printf 'inner\n' >src/nested/inner.txt
run git checkpoint save -m 'more'
note 'ignored and skipped files, and nested repositories, stay'
run git checkpoint restore @{1}
sh_run 'find src -not -path "*/.git/*" -type f | LC_ALL=C sort'
run git checkpoint status
