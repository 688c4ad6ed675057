# fish completion for @tool@, made from its flags. No word of the line is ever evaluated.
#< names

# Keys or tensors of the first model on the line that has any. Names that a shell would have to quote are left out.
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

# Models at addresses whose headers are in the cache, where the word begins as an address does. No request is made.
function __@id@_addresses
    string match -qr '^(hf|https?):' -- (commandline -ct); or return
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
end
complete -c @tool@ -a '(__@id@_addresses)'
#> addresses

@specs@
