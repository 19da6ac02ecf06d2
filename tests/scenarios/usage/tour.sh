note 'without a terminal, one step'
run git checkpoint tour
