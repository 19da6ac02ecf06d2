repository
seq 1 30 >seq.txt
printf 'a\0b' >binary
ln -s README link
run git checkpoint save -m 'before'
sed -i 's/^15$/fifteen/' seq.txt
printf 'a\0bcd' >binary
rm link && printf 'no link\n' >link
mv src/numbers.txt src/renamed.txt
printf 'no newline' >'odd "name".txt'
chmod +x README
run git checkpoint save -m 'after'
run git checkpoint diff @{1} @{0}
run git checkpoint diff -U 0 @{1} @{0} -- seq.txt
run git checkpoint diff --stat @{1} @{0}
run git checkpoint diff --name-status @{1} @{0}
run git checkpoint diff --name-only --no-renames @{1} @{0} -- src
sh_run 'git checkpoint diff --name-status -z @{1} @{0} | tr "\0" "|"; echo'
run git checkpoint diff --json --content @{1} @{0} -- README src
run git checkpoint diff --color=always @{1} @{0} -- seq.txt
note 'git reads the patch, and agrees on the counts'
sh_run 'git checkpoint diff @{1} @{0} -- seq.txt src link | git apply --numstat'
note 'stock git says the same'
sh_run 's=refs/checkpoints/shadow/$(git rev-parse HEAD)/main; git diff --stat -M $s~1 $s'
