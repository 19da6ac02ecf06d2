repository
run git checkpoint save --allow-empty
printf 'a\n' >a.txt
printf 'b\n' >b.txt
printf 'c\n' >src/c.txt
note 'only what is named is looked at'
run git checkpoint save --paths a.txt
cd src
run git checkpoint save --paths c.txt
sh_run 'printf "../b.txt\n" | git checkpoint save --paths-from-file'
sh_run 'printf "numbers.txt\0../a.txt\0" | git checkpoint save --paths-from-file -z'
note 'a path outside is a mistake'
run git checkpoint save --paths ../../outside
run git checkpoint save --paths ''
cd ..
rm a.txt
run git checkpoint save --paths a.txt
run git checkpoint list
note 'the root is everything, and a path that is nowhere a mistake'
run git checkpoint save --paths .
run git checkpoint save --paths src/../nowhere
