repository
mkdir ../bin
printf '#!/bin/sh\nprintf "TWO\\n" >src/numbers.txt\necho "changed src/numbers.txt on $(git branch --show-current)"\n' >../bin/claude
chmod +x ../bin/claude
export PATH="$PWD/../bin:$PATH"
sh_run 'git checkpoint worktree add --create feature/auth'
sh_run 'git checkpoint worktree exec feature/auth -- claude'
sh_run 'git checkpoint session start s1 --worktree feature/auth --agent claude-code'
sh_run 'git checkpoint worktree list'
sh_run 'git checkpoint session cwd s1'
sh_run 'git checkpoint session cwd s1 --json'
sh_run 'cd "$(git checkpoint worktree path feature/auth)"'
git -C ../repo-wt-feature-auth commit -qam 'the second one in capitals'
sh_run 'git checkpoint worktree merge feature/auth'
note 'what is not there'
sh_run 'git checkpoint worktree exec feature/auth -- no-such-program'
sh_run 'git checkpoint worktree path feature/else'
sh_run 'git checkpoint worktree validate ../repo-wt-feature-auth'
sh_run 'git checkpoint worktree add feature/auth'
remember
