#compdef @tool@
# zsh completion for @tool@, made from its flags. No word of the line is ever evaluated.
#< names

# Keys or tensors of the first model on the line that has any. Names that a shell would have to quote are left out.
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

# Models at addresses whose headers are in the cache, where the word begins as an address does; otherwise what the words
# say. No request is made.
_@id@_models() { # action…
  local file name
  local -a found
  if [[ $PREFIX != (hf|http|https):* ]]; then "$@"; return; fi
  for file in ${XDG_CACHE_HOME:-$HOME/.cache}/modelutils/headers/*(N); do
    name=
    { IFS= read -r name && IFS= read -r name } 2>/dev/null <$file
    [[ $name != *[^A-Za-z0-9._/:@%+-]* ]] && found+=($name)
  done
  compadd -- $found
}
#> addresses

_arguments -s -S@specs@
