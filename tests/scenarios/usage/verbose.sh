repository
timeless() { sed -E 's/took=[^ ]*/took=T/'; }
export -f timeless
echo more >>README
sh_run 'git checkpoint -v save -m one 2>&1 | timeless'
sh_run 'git checkpoint -v restore base 2>&1 | timeless'
sh_run 'GIT_CHECKPOINT_LOG=git_checkpoint=debug git checkpoint save 2>&1 | timeless'
