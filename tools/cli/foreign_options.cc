#include "cli/foreign_options.h"

#include <iterator>

namespace modelutils::cli {

namespace {

// llama.cpp's tools and converters, gguf-py's scripts, mlx_lm, vLLM, Ollama, sha256sum, and what GNU tools share.
constexpr ForeignOption rows[] = {
    // Running a model.
    {"--ctx|--ctx-size|--n-ctx|--num-ctx|--context-size|--context-length|--max-model-len|-c", "--context"},
    {"-c", "--check"},
    {"--vram|--vram-size|--gpu-memory|--gpu-mem", "--gpu"},
    {"--n-gpu-layers|--gpu-layers|-ngl", "--gpu", "--gpu SIZE computes how many layers fit"},
    {"--tensor-split|-ts", "--gpu", "--gpu takes a size for each GPU, such as 24G,16G"},
    {"--cache-type-k|--cache-type-v|-ctk|-ctv|--kv-type|--kv-cache-type|--kv-cache-dtype", "--kv"},
    {"--parallel|-np|--max-num-seqs", "--sequences"},
    {"--kv-unified|-kvu", "--unified"},
    {"--batch-size|-b", "--batch"},
    {"--ubatch-size|-ub", "--ubatch"},
    {"--flash-attn|-fa", "--flash-attention"},
    // Converting.
    {"--outfile|--out|--output-file|--output-dir|--output-path|--mlx-path", "--output"},
    {"--outtype|--ftype|--qtype|--quant|--quantize|--quantization", "--type"},
    {"--outtype|--ftype", "--dequantize"},
    {"--q-bits|--q-mode|--q-group-size", "--fallback",
     "quantised tensors keep their bits; --fallback chooses a form for those that have no exact one"},
    {"--model-name", "--name"},
    {"--output-tensor-type", "--tensor", "write --tensor output.weight=TYPE"},
    {"--token-embedding-type", "--tensor", "write --tensor token_embd.weight=TYPE"},
    {"--tensor-type", "--tensor"},
    {"--lora-scaled", "--lora", "write --lora ADAPTER=SCALE"},
    {"--max-shard-size", "--shard-size"},
    {"--split|--split-size|--shard", "--split-max-size"},
    {"--split|--split-size|--shard", "--max-shard-size"},
    {"--to|--torch-dtype|--precision", "--dtype"},
    // Editing.
    {"--merge", "--split-max-size",
     "a split model is always written as one file: name any part of it, and -o OUT.gguf"},
    {"--general-name", "--set", "write --set general.name=TEXT"},
    {"--general-description", "--set", "write --set general.description=TEXT"},
    {"--chat-template|--chat-template-file", "--set-from", "write --set-from tokenizer.chat_template=FILE"},
    {"--special-token|--special-token-by-id", "--set-token", "write --set-token ROLE=TEXT"},
    {"--remove-metadata", "--delete"},
    // Options that most programs have.
    {"--model|--hf-path|--input|--in|-m|-i", {}, "name the model without an option"},
    {"--threads|--jobs|--nthreads|-t|-j", "--threads"},
    {"--threads|--nthreads|-t|-j", "--jobs"},
    {"--overwrite|--yes|-f|-y", "--force"},
    {"--dryrun|-n", "--dry-run"},
    {"--silent|-s", "--quiet"},
    {"--no-color|--no-colour|--nocolor|--colour", "--color", "write --color never"},
    {"-V", "--version"},
};

}  // namespace

std::span<const ForeignOption> foreign_options() {
  return {std::begin(rows), std::end(rows)};
}

}  // namespace modelutils::cli
