#< helpers
#compdef @tool@
# zsh completion for @tool@, generated from its flags. Never evaluates words of the command line.
#< names

# Completes keys or tensors of the first model on the line that has any. Skips names that need quoting.
_@id@_names() { # keys | tensors
  local i word
  local -a found
  for ((i = 2; i <= $#words; ++i)); do
    word=${(Q)words[i]}
    [[ $word == '~/'* ]] && word=$HOME/${word#'~/'}
    [[ $i != $CURRENT && ( -f $word || -d $word ) ]] || continue
    found=(${(f)"$(@lister@ --list $1 -- $word 2>/dev/null </dev/null)"})
    (( $#found )) && break
  done
  compadd -- ${${(M)found:#[A-Za-z0-9_]*}:#*[^A-Za-z0-9._/+@%-]*}
}
#> names
#< addresses

# If the word begins like an address or a name of a model in a store, completes addresses with a cached header and names;
# otherwise performs the given action. Sends no request.
_@id@_models() { # action…
  local file name
  local -a found
  if [[ $PREFIX != (hf|http|https|ollama|lmstudio|llama.cpp):* ]]; then "$@"; return; fi
  if [[ $PREFIX != http* ]]; then
    found=(${(M)${(f)"$(modelutils ls --names 2>/dev/null </dev/null)"}:#$PREFIX*})
    found=(${found:#*[^A-Za-z0-9._/:@%+-]*})
  fi
#< headers
  for file in ${XDG_CACHE_HOME:-$HOME/.cache}/modelutils/headers/*(N); do
    name=
    { IFS= read -r name && IFS= read -r name } 2>/dev/null <$file
    [[ $name != *[^A-Za-z0-9._/:@%+-]* ]] && found+=($name)
  done
#> headers
  compadd -- $found
}
#> addresses
#< commands

_@id@_either() { # completes directories and words
  compadd -- "$@"
  _files -/
}

@parts@if (( CURRENT > 2 )); then
  case $words[2] in
    @commands@)
      shift words
      (( --CURRENT ))
      "_@id@_$words[1]"
      return
      ;;
  esac
fi
#> commands
#> helpers
#< part
_@main@() {
#> part

_arguments -s -S@specs@
#< part
}
#> part
