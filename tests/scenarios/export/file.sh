repository
run git checkpoint export ../nothing.bundle
printf 'four\n' >>src/numbers.txt
git checkpoint save -q -m 'add four'
printf 'five\n' >>src/numbers.txt
git checkpoint save -q -m 'add five'
git checkpoint tag good >/dev/null
run git checkpoint export ../work.bundle
run git checkpoint export ../work.bundle --json
run git checkpoint export ../one.bundle good
echo mine >../mine
run git checkpoint export ../mine
run git checkpoint export --format=tar ../work.tar
run tar -tf ../work.tar
run git checkpoint export --format=patch ../series
sh_run "grep -e '^Subject' -e '^From:' ../series"
note 'something that looks like a secret'
printf 'token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz012345"\n' >settings
git checkpoint save -q -m 'settings'
run git checkpoint export ../secret.bundle
note 'a clone'
git clone -q . ../clone
cd ../clone
run git checkpoint import ../work.bundle
run git checkpoint import ../work.bundle
run git checkpoint import --as again --json ../work.bundle
run git checkpoint list --fetched
run git checkpoint list --fetched --json -n 1
run git checkpoint diff work/good
run git checkpoint remote remove again --yes
run git checkpoint import ../series
run git checkpoint import ../work.tar
run git checkpoint import ../mine
sh_run 'head -c 300 ../work.bundle >../short.bundle; git checkpoint import ../short.bundle'
note 'a repository without the commit'
git init -q ../new
cd ../new
run git checkpoint import ../work.bundle
cd ../repo
rm settings
