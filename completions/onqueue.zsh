#compdef onqueue
# Makes zsh complete onqueue. In ~/.zshrc, behind compinit: eval "$(onqueue completion zsh)"
# The line is handed to the command itself, which knows its own commands and flags, in whatever version the project has.
_onqueue() {
  local answer word about program=$words[1]
  local -a whole open whole_texts open_texts
  # An alias or a function, such as of npx onqueue, is no program: what it leads to is that of the folder.
  (( $+commands[$program] )) || [[ -x $program ]] || program=node_modules/.bin/onqueue
  for answer in ${(f)"$($program completion zsh --line="${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null </dev/null)"}; do
    # A configuration may print lines of its own.
    [[ $answer == +* ]] || continue
    word=${${answer#+}%%$'\t'*}
    about=$word
    [[ $answer == *$'\t'* ]] && about+="  ${answer#*$'\t'}"
    if [[ $word == *[=/] ]]; then
      open+=("$word")
      open_texts+=("$about")
    else
      whole+=("$word")
      whole_texts+=("$about")
    fi
  done
  (( $#whole )) && compadd -l -d whole_texts -a whole
  (( $#open )) && compadd -S '' -l -d open_texts -a open
}
if [[ $funcstack[1] == _onqueue ]]; then _onqueue "$@"; else compdef _onqueue onqueue; fi
