repository
note 'nothing to set aside'
run git checkpoint reset
printf 'a\n' >a.txt
run git checkpoint save -m 'first'
printf 'b\n' >b.txt
run git checkpoint save -m 'second'
run git checkpoint reset --dry-run
run git checkpoint reset
run git checkpoint list
run git checkpoint list --archived
sh_run 'git checkpoint reset --list | sed "s/  [^ ]*T[^ ]*  /  TIME  /"'
run git checkpoint status
note 'a checkpoint in the archive restores like any other'
id=$(git checkpoint list --archived --json --grep first | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
run git checkpoint restore "$id"
run git status --short
run git checkpoint undo
note 'and the shadow can be brought back'
run git checkpoint reset --restore-archived "$id"
run git checkpoint reset
run git checkpoint reset --restore-archived "$id" --json
run git checkpoint list
run git checkpoint reset --restore-archived nothing
