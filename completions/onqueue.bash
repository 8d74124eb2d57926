# Makes bash complete onqueue. In ~/.bashrc: eval "$(onqueue completion bash)"
# The line is handed to the command itself, which knows its own commands and flags, in whatever version the project has.
_onqueue() {
  local answer before program=$1 current line=${COMP_LINE:0:COMP_POINT}
  COMPREPLY=()
  # An alias or a function, such as of npx onqueue, is no program: what it leads to is that of the folder.
  type -P "$program" >/dev/null || program=node_modules/.bin/onqueue
  current=${line##*[[:space:]]}
  # Of a word with = or : in it, bash replaces what stands behind the last of these.
  before=${current%"${current##*["$COMP_WORDBREAKS"]}"}
  while IFS= read -r answer; do
    # A configuration may print lines of its own.
    [[ $answer == +* ]] || continue
    answer=${answer#+}
    answer=${answer%%$'\t'*}
    COMPREPLY+=("${answer#"$before"}")
  done < <("$program" completion bash --line="$line" 2>/dev/null </dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _onqueue onqueue
