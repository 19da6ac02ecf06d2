repository
make() { true; }
export -f make
printf 'works\n' >src/program.txt
sh_run 'make test && git checkpoint save --verify'
printf 'broken\n' >src/program.txt
sh_run 'git checkpoint diff verified'
sh_run 'git checkpoint restore verified'
run cat src/program.txt
