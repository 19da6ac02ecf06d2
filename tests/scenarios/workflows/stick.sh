git init -q -b main .
printf 'parse words\n' >parser.txt
git add .
git commit -q -m 'first'
git clone -q . ../other
git -C ../other config user.name Ada
git -C ../other config user.email ada@example.com
git checkpoint enable >/dev/null
git checkpoint session prompt s1 --agent claude-code -q -m 'parse numbers'
printf 'parse numbers\n' >>parser.txt
git checkpoint session stop s1 -q
git commit -qam 'numbers'
git -C ../other pull -q
mkdir ../stick
remember
sh_run 'git log -1 --format=%B'
printf 'parse lists\n' >>parser.txt
sh_run "git checkpoint save -m 'half of the parser'"
sh_run 'git checkpoint tag evening'
sh_run "git checkpoint note -m 'the tests of lists still fail'"
sh_run 'git checkpoint export ../stick/work.bundle'
note 'the other machine'
cd ../other
sh_run 'git checkpoint import --dry-run ../stick/work.bundle'
sh_run 'git checkpoint import ../stick/work.bundle'
sh_run 'git checkpoint list --fetched'
sh_run 'git checkpoint restore work/evening'
sh_run 'cat parser.txt'
sh_run "git checkpoint blame parser.txt | sed 's/^[0-9a-f]* /... /'"
sh_run 'git checkpoint undo'
sh_run 'git checkpoint undo'
sh_run 'git checkpoint list --fetched'
sh_run 'git fsck --strict --no-dangling'
cd ../repo
