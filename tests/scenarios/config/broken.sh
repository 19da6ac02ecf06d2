repository
echo more >>README
run git checkpoint save -m one
run git checkpoint save --allow-empty -m two
echo bad >README
git checkpoint -q restore @{1}
note 'the file of the project is broken: commands stop, and say how to continue'
printf 'lock-timeout = 1m\n' >.checkpoint.toml
run git checkpoint undo
run mv .checkpoint.toml .checkpoint.toml.bad
run git checkpoint undo
note 'a value of the wrong type'
printf '# a comment\nlink = 1\n' >.checkpoint.toml
run git checkpoint restore base
run git checkpoint config unset --project link
run git checkpoint restore --dry-run base
