#compdef parley
# Completion of parley for zsh. Load it with: source <(parley completion zsh)
_parley() {
  local line
  local -a found
  for line in "${(@f)$("${words[1]}" completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      '') ;;
      :files) _files ;;
      :folders) _files -/ ;;
      *$'\t'*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
      *) found+=("${line//:/\\:}") ;;
    esac
  done
  (( $#found )) && _describe parley found
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _parley parley
