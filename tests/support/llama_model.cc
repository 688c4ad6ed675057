#include "support/llama_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

namespace modelutils::test {

namespace {

struct Block {
  u32 type;
  u64 elements;
  u64 bytes;
};

constexpr Block blocks[] = {
    {ggml_f32, 1, 4},      {ggml_f16, 1, 2},      {ggml_q4_0, 32, 18},  {ggml_q4_1, 32, 20},   {ggml_q5_0, 32, 22},
    {ggml_q5_1, 32, 24},   {ggml_q8_0, 32, 34},   {ggml_q2_k, 256, 84}, {ggml_q4_k, 256, 144}, {ggml_q5_k, 256, 176},
    {ggml_q6_k, 256, 210}, {ggml_q8_k, 256, 292}, {ggml_i8, 1, 1},      {ggml_bf16, 1, 2},
};

}  // namespace

u64 ggml_bytes(u32 type, u64 elements) {
  for (const Block& block : blocks) {
    if (block.type == type) return elements / block.elements * block.bytes;
  }
  std::abort();
}

std::string random_tensor(u32 type, u64 elements, u32 seed) {
  std::mt19937 random(seed);
  std::string bytes(ggml_bytes(type, elements), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  // No Inf or NaN in float types: clear an exponent bit.
  const std::size_t width = type == ggml_f32 ? 4 : type == ggml_f16 || type == ggml_bf16 ? 2 : 0;
  for (std::size_t i = width; width != 0 && i <= bytes.size(); i += width) {
    bytes[i - 1] = static_cast<char>(bytes[i - 1] & (random() % 4 == 0 ? 0x80 : 0xBB));  // some subnormals
  }
  // The same for the scale and minimum of types that tests decode.
  if (type == ggml_q4_1 || type == ggml_q5_1 || type == ggml_q5_k) {
    const std::size_t block = ggml_bytes(type, type == ggml_q5_k ? 256 : 32);
    for (std::size_t i = 0; i < bytes.size(); i += block) {
      for (const std::size_t high : {i + 1, i + 3}) bytes[high] = static_cast<char>(bytes[high] & 0xBB);
    }
  }
  return bytes;
}

LlamaModel::LlamaModel(const LlamaShape& given) : shape(given) {
  const LlamaShape& s = shape;
  add("token_embd.weight", {s.embed, s.vocab}, s.weight_type);
  for (u64 layer = 0; layer < s.layers; ++layer) {
    const auto block = [&](std::string_view role) { return fmt::format("blk.{}.{}", layer, role); };
    add(block("attn_norm.weight"), {s.embed}, s.norm_type);
    add(block("ffn_down.weight"), {s.intermediate, s.embed}, s.down_type);
    add(block("ffn_gate.weight"), {s.embed, s.intermediate}, s.weight_type);
    add(block("ffn_up.weight"), {s.embed, s.intermediate}, s.weight_type);
    add(block("ffn_norm.weight"), {s.embed}, s.norm_type);
    add(block("attn_k.weight"), {s.embed, s.kv_heads * s.head_dim}, s.weight_type);
    add(block("attn_output.weight"), {s.heads * s.head_dim, s.embed}, s.weight_type);
    add(block("attn_q.weight"), {s.embed, s.heads * s.head_dim}, s.weight_type);
    add(block("attn_v.weight"), {s.embed, s.kv_heads * s.head_dim}, s.weight_type);
    if (s.qkv_bias) {
      add(block("attn_q.bias"), {s.heads * s.head_dim}, s.norm_type);
      add(block("attn_k.bias"), {s.kv_heads * s.head_dim}, s.norm_type);
      add(block("attn_v.bias"), {s.kv_heads * s.head_dim}, s.norm_type);
    }
    if (s.output_bias) add(block("attn_output.bias"), {s.embed}, s.norm_type);
    if (s.mlp_bias) {
      add(block("ffn_gate.bias"), {s.intermediate}, s.norm_type);
      add(block("ffn_up.bias"), {s.intermediate}, s.norm_type);
      add(block("ffn_down.bias"), {s.embed}, s.norm_type);
    }
  }
  add("output_norm.weight", {s.embed}, s.norm_type);
}

LlamaTensor& LlamaModel::tensor(std::string_view name) {
  for (LlamaTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  std::abort();
}

void LlamaModel::add(std::string name, std::vector<u64> ne, u32 type) {
  u64 elements = 1;
  for (u64 dim : ne) elements *= dim;
  const u32 seed = shape.seed * 1000 + static_cast<u32>(tensors.size());
  tensors.push_back({std::move(name), std::move(ne), type, random_tensor(type, elements, seed)});
}

void LlamaModel::add_rope_freqs(const std::vector<float>& freqs) {
  add("rope_freqs.weight", {freqs.size()}, ggml_f32);
  std::memcpy(tensor("rope_freqs.weight").data.data(), freqs.data(), freqs.size() * 4);
}

void LlamaModel::remove(std::string_view name) {
  std::erase_if(tensors, [&](const LlamaTensor& tensor) { return tensor.name == name; });
}

GgufBuilder LlamaModel::builder(bool with_keys) const {
  GgufBuilder file;
  file.version(version).layout_alignment(alignment);
  if (alignment != 32) file.key_u32("general.alignment", static_cast<u32>(alignment));
  if (!with_keys) return file;
  const auto wanted = [&](std::string_view key) {
    return std::find(without.begin(), without.end(), key) == without.end();
  };
  const auto number = [&](std::string_view key, u64 value) {
    if (wanted(key)) file.key_u32(shape.architecture + "." + std::string(key), static_cast<u32>(value));
  };
  const auto decimal = [&](std::string_view key, float value) {
    if (wanted(key)) file.key_f32(shape.architecture + "." + std::string(key), value);
  };
  file.key_string("general.architecture", shape.architecture);
  number("block_count", shape.layers);
  number("context_length", shape.context);
  number("embedding_length", shape.embed);
  number("feed_forward_length", shape.intermediate);
  number("attention.head_count", shape.heads);
  number("attention.head_count_kv", shape.kv_heads);
  if (shape.head_dim * shape.heads != shape.embed) number("attention.key_length", shape.head_dim);
  decimal("attention.layer_norm_rms_epsilon", rms_eps);
  decimal("rope.freq_base", rope_theta);
  file.key_u32("general.quantization_version", 2);
  if (more_keys) more_keys(file);
  return file;
}

std::string LlamaModel::build() const {
  GgufBuilder file = builder(true);
  for (const LlamaTensor& tensor : tensors) file.tensor({tensor.name, tensor.ne, tensor.type, tensor.data});
  return file.build();
}

std::vector<std::string> LlamaModel::build_split(u32 parts) const {
  std::vector<std::string> files;
  for (u32 part = 0; part < parts; ++part) {
    GgufBuilder file = builder(part == 0);
    file.key_u16("split.no", static_cast<u16>(part));
    file.key_u16("split.count", static_cast<u16>(parts));
    file.key_i32("split.tensors.count", static_cast<i32>(tensors.size()));
    const std::size_t begin = tensors.size() * part / parts;
    const std::size_t end = tensors.size() * (part + 1) / parts;
    for (std::size_t i = begin; i < end; ++i) {
      file.tensor({tensors[i].name, tensors[i].ne, tensors[i].type, tensors[i].data});
    }
    files.push_back(file.build());
  }
  return files;
}

}  // namespace modelutils::test
