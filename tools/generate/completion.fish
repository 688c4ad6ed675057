#< helpers
# fish completion for @tool@, generated from its flags. Never evaluates words of the command line.
#< names

# Completes keys or tensors of the first model on the line that has any. Skips names that need quoting.
function __@id@_names # keys | tensors
    for word in (commandline -op)[2..]
        set word (string replace -r '^~/' "$HOME/" -- $word)
        test -f "$word" -o -d "$word"; or continue
        set -l found (@lister@ --list $argv[1] -- $word 2>/dev/null </dev/null)
        test (count $found) -gt 0; or continue
        string match -r '^[A-Za-z0-9_][A-Za-z0-9._/+@%-]*$' -- $found
        return
    end
end
#> names
#< addresses

# If the word begins like an address or a name of a model in a store, lists addresses with a cached header and names.
# Sends no request.
function __@id@_addresses
    string match -qr '^(hf|https?|ollama|lmstudio|llama\.cpp):' -- (commandline -ct); or return
    string match -qr '^http' -- (commandline -ct)
    or string match -r '^[A-Za-z0-9._/:@%+-]+$' -- (modelutils ls --names 2>/dev/null </dev/null)
#< headers
    set -l folder $XDG_CACHE_HOME
    test -n "$folder"; or set folder $HOME/.cache
    for file in $folder/modelutils/headers/*
        set -l name
        begin
            read -l first
            read name
        end <$file 2>/dev/null
        string match -r '^[A-Za-z0-9._/:@%+-]+$' -- $name
    end
#> headers
end
#< own-models
complete -c @tool@ -a '(__@id@_addresses)'
#> own-models
#> addresses

#> helpers
@specs@
#< helpers-end
@parts@#> helpers-end
