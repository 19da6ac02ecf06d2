# Completes git-checkpoint and 'git checkpoint'. Put this file into a directory conf.d: fish reads a file in completions only for
# the command in its name, but 'git checkpoint' needs this one, too.
# The program prints the candidates, each on a line with a tab and its description.

function __git_checkpoint_candidates
    for line in (command git-checkpoint completions fish -- (commandline -opc) (commandline -ct) 2>/dev/null)
        if string match -q \t'*' -- $line
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end

complete -c git-checkpoint -f -k -a '(__git_checkpoint_candidates)'
complete -c git -f -n __fish_git_needs_command -a checkpoint -d 'Save the whole worktree, and get it back'
complete -c git -f -k -n '__fish_git_using_command checkpoint' -a '(__git_checkpoint_candidates)'
