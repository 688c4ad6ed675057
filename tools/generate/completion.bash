#< helpers
# bash completion for @tool@, generated from its flags. Needs only bash. Never evaluates words of the command line.

# Sets REPLY to a word without quotes and backslashes and with ~/ expanded, as the shell would do.
_@id@_plain() {
  case $1 in
    \'*) REPLY=${1#\'} REPLY=${REPLY%\'} ;;
    \"*) REPLY=${1#\"} REPLY=${REPLY%\"} ;;
    *) IFS= read REPLY <<<"$1" ;; # without -r: removes backslashes
  esac
  if [[ $REPLY == '~/'* ]]; then REPLY=$HOME/${REPLY:2}; fi
}

_@id@_words() { # completes words from one string
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_@id@_nothing() {
  COMPREPLY=()
}

# Completes directories and files that match one of the patterns, or all files if none does. -d: directories only.
_@id@_files() { # [-d | pattern…]
  local name pattern found=
  compopt -o filenames 2>/dev/null # also quotes the names
  _@id@_plain "$cur"
  while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -d -- "$REPLY")
  if [[ ${1-} == -d ]]; then return; fi
  for pattern; do
    while IFS= read -r name; do
      if [[ ! -d $name ]]; then COMPREPLY+=("$name") found=yes; fi
    done < <(compgen -f -X "!$pattern" -- "$REPLY")
  done
  if [[ ! $found ]]; then
    COMPREPLY=()
    while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -f -- "$REPLY")
  fi
}

_@id@_either() { # completes directories, and words from one string
  local name
  _@id@_files -d
  while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -W "$1" -- "$cur")
}
#< names

# Completes keys or tensors of the first model on the line that has any. Skips names that need quoting.
_@id@_names() { # keys | tensors
  local i name all
  for ((i = 1; i < ${#COMP_WORDS[@]}; ++i)); do
    _@id@_plain "${COMP_WORDS[i]}"
    if ((i == COMP_CWORD)) || [[ ! -f $REPLY && ! -d $REPLY ]]; then continue; fi
    mapfile -t all < <(@lister@ --list "$1" -- "$REPLY" 2>/dev/null </dev/null)
    for name in "${all[@]}"; do
      if [[ $name == "$cur"* && $name == [A-Za-z0-9_]* && $name != *[!A-Za-z0-9._/+@%-]* ]]; then COMPREPLY+=("$name"); fi
    done
    if ((${#all[@]})); then return; fi
  done
}
#> names
#< addresses

# If the word begins like an address or a name of a model in a store, completes addresses with a cached header and names;
# otherwise performs the given action. Sends no request.
_@id@_models() { # action…
  local before= word=$cur file name i=$COMP_CWORD
  # "ollama:name:tag" is split into five words if COMP_WORDBREAKS contains ":".
  if [[ $cur == : ]]; then cur=; else i=$((i - 1)); fi
  while ((i > 1)) && [[ ${COMP_WORDS[i]} == : ]]; do before=${COMP_WORDS[i - 1]}:$before i=$((i - 2)); done
  word=$before$cur
  case $word in
    ollama:* | lmstudio:* | llama.cpp:* | hf:*)
      while IFS= read -r name; do
        if [[ $name == "$word"* && $name != *[!A-Za-z0-9._/:@%+-]* ]]; then COMPREPLY+=("${name#"$before"}"); fi
      done < <(modelutils ls --names 2>/dev/null </dev/null)
      ;;
    http:* | https:*) ;;
    *) "_@id@_$1" "${@:2}"; return ;;
  esac
#< headers
  for file in "${XDG_CACHE_HOME:-$HOME/.cache}"/modelutils/headers/*; do
    name=
    { IFS= read -r name && IFS= read -r name; } 2>/dev/null <"$file"
    if [[ $name == "$word"* && $name != *[!A-Za-z0-9._/:@%+-]* ]]; then COMPREPLY+=("${name#"$before"}"); fi
  done
#> headers
}
#> addresses
#> helpers

_@main@() {
  local LC_ALL=C IFS=$' \t\n' REPLY prefix= is_joined= i cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
#< commands
  if ((COMP_CWORD > 1)); then
    case ${COMP_WORDS[1]} in
      @commands@) "_@id@_${COMP_WORDS[1]}"; return ;;
    esac
  fi
#> commands
  # --flag=value is split into three words if COMP_WORDBREAKS contains "=".
  if [[ $cur == = ]]; then
    cur= is_joined=yes
  elif [[ $flag == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]} is_joined=yes
  elif [[ $cur == --*=* ]]; then
    is_joined=yes flag=${cur%%=*} prefix=${cur%%=*}= cur=${cur#*=}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then flag=--; fi # no flags after this
  done
  if [[ $flag == --help && ! $is_joined ]]; then flag=; fi # its value is optional
  case $flag in
    --help) _@id@_words '@groups@' ;;
@values@
    *) if [[ $flag != -- && $cur == -* ]]; then _@id@_words '@flags@'; else _@id@_@positional@; fi ;;
  esac
  for i in "${!COMPREPLY[@]}"; do COMPREPLY[i]=$prefix${COMPREPLY[i]}; done
}
#< helpers-end
@parts@complete -F _@main@ @tool@
#> helpers-end
