_l4strace_completion() {
    local IFS=$'
'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" \
                   COMP_CWORD=$COMP_CWORD \
                   _L4STRACE_COMPLETE=complete_bash $1 ) )
    return 0
}

complete -o default -F _l4strace_completion l4strace
