# Completion of parley for fish. Load it with: parley completion fish | source
function __parley_completions
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] completion fish -- $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':folders'
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete -c parley -f -a '(__parley_completions)'
