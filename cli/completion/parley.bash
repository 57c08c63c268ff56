# Completion of parley for bash. Load it with: source <(parley completion bash)
_parley() {
  local line=${COMP_LINE:0:COMP_POINT} words=() current value word prefix
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  current=${words[${#words[@]} - 1]}
  value=${current#--*=}
  COMPREPLY=()
  local IFS=$'\n'
  for word in $("${COMP_WORDS[0]}" completion bash -- "${words[@]:1}" 2>/dev/null); do
    case $word in
      :files)
        COMPREPLY+=($(compgen -f -- "$value"))
        compopt -o filenames 2>/dev/null
        ;;
      :folders)
        COMPREPLY+=($(compgen -d -- "$value"))
        compopt -o filenames 2>/dev/null
        ;;
      *) COMPREPLY+=("$word") ;;
    esac
  done
  # For bash a word begins again after each of these characters.
  prefix=${current%"${current##*[:=]}"}
  [[ -n $prefix ]] && COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
  return 0
}
complete -F _parley parley
