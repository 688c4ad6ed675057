# Builds the stores of Ollama, LM Studio, Hugging Face and llama.cpp in $HOME, which it sets to a new folder, and clears
# the variables that name other places. Source this file after build_caches.sh. Models are copies of $DATA/gguf/small.gguf.

export HOME=$PWD/home
unset OLLAMA_MODELS LMSTUDIO_HOME HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_HOME XDG_CACHE_HOME LLAMA_CACHE
mkdir -p "$HOME"
small=$DATA/gguf/small.gguf
ollama=$HOME/.ollama/models hub=$HOME/.cache/huggingface/hub lmstudio=$HOME/.lmstudio/models flat=$HOME/.cache/llama.cpp

# Ollama's "tiny:latest" with everything that a manifest may name, and "hf.co/org/repo:Q4" of another host.
build_ollama() {
  printf '{"stop":["<|end|>","a\\"b"],"temperature":0.5}' >params
  printf '{{ .Prompt }}' >template
  printf 'Be brief.' >system
  python3 "$HERE/../support/tiny_projector.py" projector.gguf
  ollama_model "$ollama" tiny latest model="$small" projector=projector.gguf params=params template=template system=system
  printf '{"model_format":"gguf","model_family":"llama","model_type":"7.2M","file_type":"Q4_K_M"}' >config
  ollama_model_of "$ollama" hf.co/org/repo-GGUF/Q4 config model="$small"
  rm params template system projector.gguf config
}

# Like ollama_model of build_caches.sh, for another path below "manifests" and a config blob.
ollama_model_of() { # models folder, HOST/NAMESPACE/NAME/TAG, config, pairs
  local manifest=$1/manifests/$2 layers='' pair
  mkdir -p "$(dirname "$manifest")"
  for pair in "${@:4}"; do layers+=${layers:+,}$(ollama_layer "$1" "${pair%%=*}" "${pair#*=}"); done
  printf '{"config":%s,"layers":[%s]}' "$(ollama_layer "$1" config "$3")" "$layers" >"$manifest"
}

# A repository with two models, one in two parts, and an interrupted download of another repository.
build_hub() {
  mkdir files
  cp "$small" files/small.gguf
  cp "$DATA"/gguf/split-0000?-of-00002.gguf files
  hub_model "$hub/models--org--pair" 1111111111111111111111111111111111111111 files
  rm files/split-*
  hub_model "$hub/models--org--one" 2222222222222222222222222222222222222222 files
  mkdir -p "$hub/models--org--begun/blobs" "$hub/models--org--begun/refs"
  head -c 1000 "$small" >"$hub/models--org--begun/blobs/$(printf '%064d' 7).ab12cd34.incomplete"
  rm -r files
}

build_lm_studio() {
  mkdir -p "$lmstudio/maker/small-GGUF" "$lmstudio/maker/loading"
  cp "$small" "$lmstudio/maker/small-GGUF/small.gguf"
  : >"$lmstudio/maker/loading/downloading_big.gguf.part"
}

build_flat() {
  mkdir -p "$flat"
  cp "$small" "$flat/org_repo_small.gguf"
  printf '"etag"' >"$flat/org_repo_small.gguf.etag"
  head -c 100 "$small" >"$flat/other.gguf.downloadInProgress"
}
