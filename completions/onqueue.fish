# Makes fish complete onqueue. In ~/.config/fish/config.fish: onqueue completion fish | source
# The line is handed to the command itself, which knows its own commands and flags, in whatever version the project has.
function __onqueue_complete
    set -l program (commandline -opc)[1]
    # An alias or a function, such as of npx onqueue, is no program: what it leads to is that of the folder.
    command -q $program; or set program node_modules/.bin/onqueue
    command -q $program; or return
    # A configuration may print lines of its own.
    $program completion fish --line=(commandline -cp) 2>/dev/null </dev/null | string replace -rf '^\+' ''
end
complete -c onqueue -f -a '(__onqueue_complete)'
