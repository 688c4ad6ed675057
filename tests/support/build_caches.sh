# Builds download caches like the programs that fill them. Source this file. Checksums come from coreutils.

git_sha1() { { printf 'blob %d\0' "$(stat -c %s "$1")"; cat "$1"; } | sha1sum | cut -d' ' -f1; }
sha256() { sha256sum "$1" | cut -d' ' -f1; }

# Adds a file to a revision of a Hugging Face repository: its blob, and the link to it.
hub_file() { # repository, revision, name in the repository, file
  local blob up=../.. part=$3
  case $3 in
    *.gguf | *.safetensors) blob=$(sha256 "$4") ;; # stored with Git LFS
    *) blob=$(git_sha1 "$4") ;;
  esac
  mkdir -p "$1/blobs" "$(dirname "$1/snapshots/$2/$3")"
  cp "$4" "$1/blobs/$blob"
  while [[ $part == */* ]]; do up=../$up part=${part#*/}; done
  ln -s "$up/blobs/$blob" "$1/snapshots/$2/$3"
}

# Adds a folder as a revision.
hub_model() { # repository, revision, folder
  local file
  for file in "$3"/*; do hub_file "$1" "$2" "$(basename "$file")" "$file"; done
  mkdir -p "$1/refs" "$1/.no_exist/$2"
  printf %s "$2" >"$1/refs/main"
  : >"$1/.no_exist/$2/adapter_config.json"
}

# Moves a repository's large blobs to the blobs shared by the whole cache, as huggingface_hub does for files in Xet.
share_blobs() { # cache, repository
  local blob xet
  mkdir -p "$1/blobs"
  printf '1\n' >"$1/blobs/.huggingface-shared-blobs"
  for blob in "$2"/blobs/*; do
    [ "$(basename "$blob" | wc -c)" -eq 65 ] && [ ! -L "$blob" ] || continue
    xet=$(printf 'xet %s' "$(basename "$blob")" | sha256sum | cut -d' ' -f1)
    mkdir -p "$1/blobs/${xet:0:2}"
    mv "$blob" "$1/blobs/${xet:0:2}/$xet"
    chmod 444 "$1/blobs/${xet:0:2}/$xet"
    ln -s "../../blobs/${xet:0:2}/$xet" "$blob"
    printf '%s\n' "$(basename "$2")/blobs/$(basename "$blob")" >>"$1/blobs/${xet:0:2}/$xet.refs"
    : >"$1/blobs/${xet:0:2}/$xet.lock"
  done
}

# Writes the record of a file that was downloaded to a folder.
local_record() { # folder, name, revision
  local record=$1/.cache/huggingface/download/$2.metadata etag
  mkdir -p "$(dirname "$record")"
  case $2 in *.gguf | *.safetensors) etag=$(sha256 "$1/$2") ;; *) etag=$(git_sha1 "$1/$2") ;; esac
  printf '%s\n%s\n1712656091.123\n' "$3" "$etag" >"$record"
}

# Adds a blob of Ollama; prints its layer.
ollama_layer() { # models folder, kind, file
  local digest
  digest=$(sha256 "$3")
  mkdir -p "$1/blobs" && cp "$3" "$1/blobs/sha256-$digest"
  printf '{"mediaType":"application/vnd.ollama.image.%s","digest":"sha256:%s","size":%d}' "$2" "$digest" "$(stat -c %s "$3")"
}

# Adds a model of Ollama from "KIND=FILE" pairs.
ollama_model() { # models folder, name, tag, pairs
  local manifest=$1/manifests/registry.ollama.ai/library/$2/$3 layers='' config=$1/config pair
  mkdir -p "$(dirname "$manifest")"
  for pair in "${@:4}"; do layers+=${layers:+,}$(ollama_layer "$1" "${pair%%=*}" "${pair#*=}"); done
  printf '{"model_format":"gguf"}' >"$config"
  printf '{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json","config":%s,"layers":[%s]}' \
    "$(ollama_layer "$1" config "$config")" "$layers" >"$manifest"
  rm "$config"
}
