repository
echo more >>README
run git checkpoint save -m one
echo new >new.txt
note 'a mistyped path costs nothing: no checkpoint is taken before it is known'
run git checkpoint restore @{0} README no-such-file
run git checkpoint restore @{0} 'no/such/*'
run git checkpoint list
note 'a file of either side will do'
run git checkpoint restore @{0} new.txt
run git checkpoint restore @{0} 'src/*.txt'
