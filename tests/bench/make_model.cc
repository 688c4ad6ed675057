// Writes large models for benchmarks: deterministic and realistic in structure, with generated data.
//
//   make_model gguf FILE MEGABYTES         llama-shaped, Q4_K and Q6_K, tied embeddings, small vocabulary
//   make_model TYPE FILE MEGABYTES         the same with all matrices in q4_0, q8_0 or q4_k; MEGABYTES as for gguf
//   make_model header FILE SCALE           128k × SCALE tokens and 280k × SCALE merges, hardly any tensor data
//   make_model safetensors FILE TENSORS    many small tensors
//   make_model mlx DIR MEGABYTES           llama-shaped, 4-bit affine, group 64, f16 scales, with a tokenizer
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf/write.h"
#include "json/writer.h"
#include "tensor/types.h"

using namespace modelutils;

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "make_model: %s\n", what.c_str());
  std::exit(1);
}

class File {
 public:
  explicit File(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) fail("cannot create " + path);
  }
  ~File() {
    if (std::fclose(file_) != 0) fail("cannot finish a file");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void write(const void* bytes, std::size_t size) {
    if (std::fwrite(bytes, 1, size, file_) != size) fail("cannot write");
    written_ += size;
  }
  void write(std::string_view text) { write(text.data(), text.size()); }
  void pad_to(u64 offset) {
    while (written_ < offset) write("", 1);
  }

 private:
  std::FILE* file_;
  u64 written_ = 0;
};

// xorshift64*: the same bytes on every machine.
class Random {
 public:
  u64 next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 2685821657736338717u;
  }
  /// Returns a float16 between 2^-9 and 2^-7: finite, and of the size of a weight's scale.
  u16 scale() { return static_cast<u16>((6u << 10) + (next() % 2048)); }
  void fill(std::vector<std::byte>& bytes) {
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      const u64 word = next();
      std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, bytes.size() - i));
    }
  }

 private:
  u64 state_ = 88172645463325252u;
};

// Offsets of the f16 fields of the block types used here (docs/formats/gguf.md).
std::vector<u32> scale_offsets(TensorType type) {
  switch (type) {
    case TensorType::Q4_K: return {0, 2};
    case TensorType::Q6_K: return {208};
    case TensorType::Q4_0:
    case TensorType::Q8_0: return {0};
    default: return {};
  }
}

// Random blocks with finite scales. Reuses a pool of 4 MiB from changing positions, because generating every byte would
// take longer than the benchmark.
class Blocks {
 public:
  explicit Blocks(TensorType type) : block_(type_info(type).block_bytes) {
    pool_.resize((u64{4} << 20) / block_ * block_);
    Random random;
    random.fill(pool_);
    if (type == TensorType::F32) {
      const float one = 1.0f;
      for (std::size_t i = 0; i < pool_.size(); i += 4) std::memcpy(pool_.data() + i, &one, 4);
    }
    for (std::size_t block = 0; block < pool_.size(); block += block_) {
      for (u32 offset : scale_offsets(type)) {
        const u16 scale = random.scale();
        std::memcpy(pool_.data() + block + offset, &scale, 2);
      }
    }
  }
  void write(File& file, u64 bytes) {
    while (bytes > 0) {
      place_ = (place_ + 7919 * u64{block_}) % pool_.size();
      const u64 size = std::min<u64>(bytes, pool_.size() - place_);
      file.write(pool_.data() + place_, static_cast<std::size_t>(size));
      bytes -= size;
    }
  }

 private:
  u32 block_;
  std::vector<std::byte> pool_;
  u64 place_ = 0;
};

// Returns distinct words. Pairs of neighbours form the merges, so every part of a merge is in the vocabulary.
std::string word(u64 number) {
  std::string text;
  do {
    text += static_cast<char>('a' + number % 26);
    number /= 26;
  } while (number > 0);
  return text;
}

struct Shape {
  u64 embedding = 2048;
  u64 feed_forward = 5632;
  u64 heads = 16;
  u64 heads_kv = 4;
  u64 head_dim = 128;
  u64 vocabulary = 32000;
};

std::vector<gguf::OutKey> model_keys(const Shape& shape, u64 layers, const std::vector<std::string>& tokens,
                                     const std::vector<std::string>& merges) {
  using namespace gguf;
  std::vector<OutKey> keys;
  keys.push_back(make_key_string("general.architecture", "llama"));
  keys.push_back(make_key_string("general.name", "benchmark"));
  keys.push_back(make_key("general.file_type", u32{15}));
  keys.push_back(make_key("general.quantization_version", u32{2}));
  keys.push_back(make_key("llama.block_count", static_cast<u32>(layers)));
  keys.push_back(make_key("llama.context_length", u32{4096}));
  keys.push_back(make_key("llama.embedding_length", static_cast<u32>(shape.embedding)));
  keys.push_back(make_key("llama.feed_forward_length", static_cast<u32>(shape.feed_forward)));
  keys.push_back(make_key("llama.attention.head_count", static_cast<u32>(shape.heads)));
  keys.push_back(make_key("llama.attention.head_count_kv", static_cast<u32>(shape.heads_kv)));
  keys.push_back(make_key_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f));
  keys.push_back(make_key_f32("llama.rope.freq_base", 500000.0f));
  keys.push_back(make_key_string("tokenizer.ggml.model", "gpt2"));
  keys.push_back(make_key_string("tokenizer.ggml.pre", "llama-bpe"));
  keys.push_back(make_key_strings("tokenizer.ggml.tokens", tokens));
  keys.push_back(make_key_i32s("tokenizer.ggml.token_type", std::vector<i32>(tokens.size(), 1)));
  keys.push_back(make_key_strings("tokenizer.ggml.merges", merges));
  keys.push_back(make_key("tokenizer.ggml.bos_token_id", u32{0}));
  keys.push_back(make_key("tokenizer.ggml.eos_token_id", u32{1}));
  return keys;
}

void write_gguf(const std::string& path, const std::vector<gguf::OutKey>& keys,
                const std::vector<gguf::OutTensor>& tensors) {
  const auto layout = gguf::layout(keys, tensors);
  if (!layout) fail(layout.error().message);
  File file(path);
  file.write(layout->header);
  std::map<TensorType, Blocks> blocks;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    file.pad_to(layout->offsets[i]);
    blocks.try_emplace(tensors[i].type, tensors[i].type).first->second.write(file, layout->bytes[i]);
  }
  file.pad_to(layout->file_size);
}

// Writes `megabytes` of the Q4_K and Q6_K mix; with `only`, all matrices have one type.
void make_gguf(const std::string& path, u64 megabytes, std::optional<TensorType> only) {
  Shape shape;
  if (megabytes < 500) shape = {512, 1536, 8, 2, 64, 4096};
  const u64 kv = shape.heads_kv * shape.head_dim;
  const auto layer_tensors = [&](u64 layer) {
    const auto name = [&](std::string_view role) { return fmt::format("blk.{}.{}.weight", layer, role); };
    const u64 e = shape.embedding;
    return std::vector<gguf::OutTensor>{{name("attn_norm"), TensorType::F32, {e}},
                                        {name("attn_q"), TensorType::Q4_K, {e, shape.heads * shape.head_dim}},
                                        {name("attn_k"), TensorType::Q4_K, {e, kv}},
                                        {name("attn_v"), TensorType::Q6_K, {e, kv}},
                                        {name("attn_output"), TensorType::Q4_K, {shape.heads * shape.head_dim, e}},
                                        {name("ffn_norm"), TensorType::F32, {e}},
                                        {name("ffn_gate"), TensorType::Q4_K, {e, shape.feed_forward}},
                                        {name("ffn_up"), TensorType::Q4_K, {e, shape.feed_forward}},
                                        {name("ffn_down"), TensorType::Q6_K, {shape.feed_forward, e}}};
  };
  std::vector<gguf::OutTensor> tensors = {{"token_embd.weight", TensorType::Q4_K, {shape.embedding, shape.vocabulary}}};
  u64 bytes = *tensor_bytes(TensorType::Q4_K, tensors[0].ne);
  u64 layers = 0;
  while (bytes < megabytes * 1000000) {
    for (gguf::OutTensor& tensor : layer_tensors(layers)) {
      bytes += *tensor_bytes(tensor.type, tensor.ne);
      tensors.push_back(std::move(tensor));
    }
    ++layers;
  }
  tensors.push_back({"output_norm.weight", TensorType::F32, {shape.embedding}});
  for (gguf::OutTensor& tensor : tensors) {
    if (only && tensor.type != TensorType::F32) tensor.type = *only;
  }
  std::vector<std::string> tokens;
  for (u64 i = 0; i < shape.vocabulary; ++i) tokens.push_back(word(i));
  write_gguf(path, model_keys(shape, layers, tokens, {}), tensors);
}

void make_header(const std::string& path, u64 scale) {
  // Merges are all splits of tokens into two known words, about two per token as in real vocabularies.
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  constexpr u64 base = 10000;
  for (u64 i = 0; i < base; ++i) tokens.push_back(word(i));
  std::vector<std::string> stems(tokens);
  for (u64 i = base; i < 128000 * scale; ++i) tokens.push_back("Ġ" + word(i * 9973));
  for (u64 i = 0; merges.size() < 280000 * scale; ++i) {
    const std::string& whole = tokens[base + i % (tokens.size() - base)];
    const std::string rest = whole.substr(2);
    const std::size_t cut = 1 + i / (tokens.size() - base);
    if (cut >= rest.size()) continue;
    merges.push_back("Ġ" + rest.substr(0, cut) + " " + rest.substr(cut));
  }
  // Both parts of a merge must be tokens.
  std::vector<std::string> parts;
  for (const std::string& merge : merges) {
    const std::size_t space = merge.find(' ');
    parts.push_back(merge.substr(0, space));
    parts.push_back(merge.substr(space + 1));
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  std::sort(stems.begin(), stems.end());
  std::vector<std::string> known(tokens);
  std::sort(known.begin(), known.end());
  for (const std::string& part : parts) {
    if (!std::binary_search(known.begin(), known.end(), part)) tokens.push_back(part);
  }
  Shape shape;
  shape.embedding = 256;
  shape.vocabulary = 0;
  write_gguf(path, model_keys(shape, 1, tokens, merges), {});
}

void make_safetensors(const std::string& path, u64 count) {
  json::Writer header;
  header.begin_object();
  for (u64 i = 0; i < count; ++i) {
    header.key(fmt::format("model.layers.{}.mlp.experts.{}.up_proj.weight", i / 128, i % 128));
    header.begin_object();
    header.member("dtype", "BF16");
    header.key("shape");
    header.begin_array();
    header.number(u64{4});
    header.number(u64{8});
    header.end_array();
    header.key("data_offsets");
    header.begin_array();
    header.number(i * 64);
    header.number((i + 1) * 64);
    header.end_array();
    header.end_object();
  }
  header.end_object();
  std::string text = header.text();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  File file(path);
  const u64 size = text.size();
  file.write(&size, 8);
  file.write(text);
  file.pad_to(8 + size + count * 64);
}

}  // namespace

namespace {

void write_text(const std::string& path, std::string_view text) {
  File file(path);
  file.write(text);
}

// Writes a byte-level tokenizer with as many words as the embedding has rows.
void write_tokenizer(const std::string& folder, u64 vocabulary) {
  json::Writer out;
  out.begin_object();
  out.key("added_tokens");
  out.begin_array();
  out.end_array();
  out.key("pre_tokenizer");
  out.begin_object();
  out.member("type", "ByteLevel");
  out.member("add_prefix_space", false);
  out.member("use_regex", true);
  out.end_object();
  out.key("decoder");
  out.begin_object();
  out.member("type", "ByteLevel");
  out.end_object();
  out.key("model");
  out.begin_object();
  out.member("type", "BPE");
  out.key("vocab");
  out.begin_object();
  for (u64 i = 0; i < vocabulary; ++i) out.member(word(i), i);
  out.end_object();
  out.key("merges");
  out.begin_array();
  for (char a = 'a'; a <= 'z'; ++a) out.string(std::string(1, a) + " b");
  out.end_array();
  out.end_object();
  out.end_object();
  write_text(folder + "/tokenizer.json", out.text());
}

void make_mlx(const std::string& folder, u64 megabytes) {
  Shape shape;
  if (megabytes < 500) shape = {512, 1536, 8, 2, 64, 4096};
  std::filesystem::create_directories(folder);
  struct Module {
    std::string name;
    u64 rows;
    u64 columns;
  };
  const u64 e = shape.embedding;
  const u64 q = shape.heads * shape.head_dim;
  const u64 kv = shape.heads_kv * shape.head_dim;
  std::vector<Module> modules = {{"model.embed_tokens", shape.vocabulary, e}};
  std::vector<Module> norms;
  constexpr u64 group = 64;
  const auto bytes_of = [](const Module& module) {
    return module.rows * (module.columns / 2 + module.columns / group * 4);
  };
  u64 bytes = bytes_of(modules[0]);
  u64 layers = 0;
  for (; bytes < megabytes * 1000000; ++layers) {
    const std::string prefix = fmt::format("model.layers.{}.", layers);
    for (const Module& module :
         {Module{"self_attn.q_proj", q, e}, Module{"self_attn.k_proj", kv, e}, Module{"self_attn.v_proj", kv, e},
          Module{"self_attn.o_proj", e, q}, Module{"mlp.gate_proj", shape.feed_forward, e},
          Module{"mlp.up_proj", shape.feed_forward, e}, Module{"mlp.down_proj", e, shape.feed_forward}}) {
      modules.push_back({prefix + module.name, module.rows, module.columns});
      bytes += bytes_of(modules.back());
    }
    norms.push_back({prefix + "input_layernorm", 1, e});
    norms.push_back({prefix + "post_attention_layernorm", 1, e});
  }
  norms.push_back({"model.norm", 1, e});

  json::Writer header;
  u64 offset = 0;
  header.begin_object();
  const auto entry = [&](const std::string& name, std::string_view dtype, std::vector<u64> dims, u64 size) {
    header.key(name);
    header.begin_object();
    header.member("dtype", dtype);
    header.key("shape");
    header.begin_array();
    for (u64 dim : dims) header.number(dim);
    header.end_array();
    header.key("data_offsets");
    header.begin_array();
    header.number(offset);
    header.number(offset += size);
    header.end_array();
    header.end_object();
  };
  header.key("__metadata__");
  header.begin_object();
  header.member("format", "mlx");
  header.end_object();
  for (const Module& module : modules) {
    entry(module.name + ".weight", "U32", {module.rows, module.columns / 8}, module.rows * module.columns / 2);
    entry(module.name + ".scales", "F16", {module.rows, module.columns / group},
          module.rows * module.columns / group * 2);
    entry(module.name + ".biases", "F16", {module.rows, module.columns / group},
          module.rows * module.columns / group * 2);
  }
  for (const Module& norm : norms) entry(norm.name + ".weight", "F16", {norm.columns}, norm.columns * 2);
  header.end_object();

  File file(folder + "/model.safetensors");
  const u64 size = header.text().size();
  file.write(&size, 8);
  file.write(header.text());
  Blocks codes(TensorType::I8);
  std::vector<u16> scales(u64{1} << 20);
  Random random;
  for (u16& scale : scales) scale = random.scale();
  const auto write_scales = [&](u64 count) {
    for (u64 done = 0; done < count;) {
      const u64 piece = std::min<u64>(count - done, scales.size());
      file.write(scales.data(), piece * 2);
      done += piece;
    }
  };
  for (const Module& module : modules) {
    codes.write(file, module.rows * module.columns / 2);
    write_scales(module.rows * module.columns / group);
    write_scales(module.rows * module.columns / group);
  }
  for (const Module& norm : norms) write_scales(norm.columns);

  write_text(folder + "/config.json",
             fmt::format(R"({{"architectures":["LlamaForCausalLM"],"model_type":"llama","num_hidden_layers":{},)"
                         R"("hidden_size":{},"intermediate_size":{},"num_attention_heads":{},"num_key_value_heads":{},)"
                         R"("head_dim":{},"vocab_size":{},"max_position_embeddings":4096,"rms_norm_eps":1e-05,)"
                         R"("rope_theta":500000.0,"tie_word_embeddings":true,)"
                         R"("quantization":{{"group_size":64,"bits":4,"mode":"affine"}}}})",
                         layers, shape.embedding, shape.feed_forward, shape.heads, shape.heads_kv, shape.head_dim,
                         shape.vocabulary));
  write_tokenizer(folder, shape.vocabulary);
  write_text(folder + "/tokenizer_config.json", R"({"tokenizer_class":"PreTrainedTokenizerFast"})");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) fail("usage: make_model gguf|q4_0|q8_0|q4_k|header|safetensors|mlx OUT SIZE");
  const std::string kind = argv[1];
  const u64 size = std::strtoull(argv[3], nullptr, 10);
  const std::map<std::string, std::optional<TensorType>> ggufs = {
      {"gguf", {}}, {"q4_0", TensorType::Q4_0}, {"q8_0", TensorType::Q8_0}, {"q4_k", TensorType::Q4_K}};
  if (const auto found = ggufs.find(kind); found != ggufs.end()) {
    make_gguf(argv[2], size, found->second);
  } else if (kind == "header") {
    make_header(argv[2], size);
  } else if (kind == "safetensors") {
    make_safetensors(argv[2], size);
  } else if (kind == "mlx") {
    make_mlx(argv[2], size);
  } else {
    fail("unknown kind " + kind);
  }
  return 0;
}
