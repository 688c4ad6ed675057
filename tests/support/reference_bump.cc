#include "support/reference_bump.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "io/hash.h"

namespace modelutils::test {

namespace {

const std::map<u32, u8> original = {{ggml_f32, 0},  {ggml_bf16, 1}, {ggml_f16, 2},  {ggml_i8, 3},
                                    {ggml_q4_0, 5}, {ggml_q4_k, 6}, {ggml_q6_k, 7}, {ggml_q8_0, 8}};
const std::map<u32, u8> renumbered = {{ggml_f32, 0},   {ggml_bf16, 1},  {ggml_f16, 2},  {ggml_i8, 3},   {ggml_q4_0, 5},
                                      {ggml_q4_1, 6},  {ggml_q4_k, 7},  {ggml_q6_k, 8}, {ggml_q8_0, 9}, {ggml_q8_k, 10},
                                      {ggml_q5_0, 11}, {ggml_q5_1, 12}, {ggml_q5_k, 13}};

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

float half(u16 bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  return static_cast<float>(sign *
                            (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25)));
}

std::string widened(const LlamaTensor& tensor) {
  std::string out;
  if (tensor.type == ggml_f32) return tensor.data;
  for (std::size_t i = 0; i < tensor.data.size(); i += 2) {
    u16 bits = 0;
    std::memcpy(&bits, tensor.data.data() + i, 2);
    if (tensor.type == ggml_f16) {
      put(out, half(bits));
    } else {
      put(out, u32{bits} << 16);
    }
  }
  return out;
}

class Writer {
 public:
  Writer(LlamaModel& model, const ReferenceOptions& options) : model_(model), options_(options) {}

  ReferenceBump write() {
    const LlamaShape& s = model_.shape;
    const u64 context = options_.context == 0 ? s.context : options_.context;
    const u64 pad = (options_.align_head - s.head_dim % options_.align_head) % options_.align_head;
    const u64 aligned = s.head_dim + pad;
    weight("token_emb", "token_embd.weight", 1, 0);
    add("pos_emb", 0, std::string(context * s.embed * 4, '\0'));
    for (u64 n = 0; n < s.layers; ++n) {
      const auto name = [&](std::string_view role) { return fmt::format("layer.{}.{}", n, role); };
      const auto source = [&](std::string_view role) { return fmt::format("blk.{}.{}", n, role); };
      add(name("ln1_gamma"), 0, widened(model_.tensor(source("attn_norm.weight"))));
      add(name("ln2_gamma"), 0, widened(model_.tensor(source("ffn_norm.weight"))));
      weight(name("wq"), source("attn_q.weight"), s.heads, pad);
      bias(name("bq"), s.qkv_bias, source("attn_q.bias"), s.heads, pad);
      weight(name("wk"), source("attn_k.weight"), s.kv_heads, pad);
      bias(name("bk"), s.qkv_bias, source("attn_k.bias"), s.kv_heads, pad);
      weight(name("wv"), source("attn_v.weight"), s.kv_heads, pad);
      bias(name("bv"), s.qkv_bias, source("attn_v.bias"), s.kv_heads, pad);
      output_projection(name("wo"), source("attn_output.weight"), pad);
      add(name("bo"), 0, s.output_bias ? widened(model_.tensor(source("attn_output.bias"))) : zeros(s.embed));
      const LlamaTensor& gate = model_.tensor(source("ffn_gate.weight"));
      add(name("w1"), gate.type, gate.data + model_.tensor(source("ffn_up.weight")).data);
      add(name("b1"), 0,
          s.mlp_bias ? widened(model_.tensor(source("ffn_gate.bias"))) + widened(model_.tensor(source("ffn_up.bias")))
                     : zeros(2 * s.intermediate));
      weight(name("w2"), source("ffn_down.weight"), 1, 0);
      add(name("b2"), 0, s.mlp_bias ? widened(model_.tensor(source("ffn_down.bias"))) : zeros(s.embed));
    }
    add("final_ln_weight", 0, widened(model_.tensor("output_norm.weight")));
    add("final_ln_bias", 0, zeros(s.embed));

    std::string payload;
    put<u32>(payload, static_cast<u32>(codes_.size()));
    payload += codes_;
    for (ReferenceEntry& entry : out_.entries) {
      entry.offset = 0x80 + payload.size();
      payload += entry.bytes;
    }
    std::string& file = out_.bytes;
    file = "BUMPWGT3";
    for (u64 number : {u64{3}, u64{1}, s.layers, s.vocab, s.embed, context, s.heads, s.head_dim}) {
      put<u32>(file, static_cast<u32>(number));
    }
    put<u64>(file, s.embed);
    put<u64>(file, aligned);
    put<u64>(file, (context + 15) / 16 * 16);
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update(std::as_bytes(std::span(payload)));
    file += hasher.digest();
    file += std::string(32, '\0') + payload;
    return std::move(out_);
  }

 private:
  static std::string zeros(u64 floats) { return std::string(floats * 4, '\0'); }

  void add(std::string name, u32 type, std::string bytes) {
    codes_ += static_cast<char>((options_.renumbered ? renumbered : original).at(type));
    out_.entries.push_back({std::move(name), 0, std::move(bytes)});
  }

  // Reorders the rows of a head to 0, 2, 4, …, 1, 3, 5, … if the options ask for it.
  std::string halves(const std::string& head, u64 row) const {
    if (!options_.split_halves || model_.shape.architecture != "llama") return head;
    std::string even, odd;
    for (u64 i = 0; i * row < head.size(); ++i) (i % 2 == 0 ? even : odd) += head.substr(i * row, row);
    return even + odd;
  }

  /// Adds the rows of each head, followed by `pad` zero rows.
  void weight(std::string name, const std::string& source, u64 heads, u64 pad) {
    const LlamaTensor& tensor = model_.tensor(source);
    const u64 row = ggml_bytes(tensor.type, tensor.ne[0]);
    const u64 head = tensor.data.size() / heads;
    const bool is_split = name.ends_with("wq") || name.ends_with("wk");
    std::string bytes;
    for (u64 i = 0; i < heads; ++i) {
      const std::string rows = tensor.data.substr(i * head, head);
      bytes += (is_split ? halves(rows, row) : rows) + std::string(pad * row, '\0');
    }
    add(std::move(name), tensor.type, std::move(bytes));
  }

  void bias(std::string name, bool has, const std::string& source, u64 heads, u64 pad) {
    const u64 head = model_.shape.head_dim * 4;
    const std::string floats = has ? widened(model_.tensor(source)) : std::string(heads * head, '\0');
    std::string bytes;
    const bool is_split = name.ends_with("bq") || name.ends_with("bk");
    for (u64 i = 0; i < heads; ++i) {
      const std::string part = floats.substr(i * head, head);
      bytes += (is_split ? halves(part, 4) : part) + zeros(pad);
    }
    add(std::move(name), 0, std::move(bytes));
  }

  void output_projection(std::string name, const std::string& source, u64 pad) {
    const LlamaTensor& tensor = model_.tensor(source);
    const u64 head = ggml_bytes(tensor.type, model_.shape.head_dim);
    const u64 padding = ggml_bytes(tensor.type, pad);
    if (options_.split_halves && tensor.type == ggml_f32) {  // order [head][row][column] instead of [row][head][column]
      std::string packed;
      for (u64 h = 0; h < model_.shape.heads; ++h) {
        for (u64 e = 0; e < model_.shape.embed; ++e) {
          packed += tensor.data.substr((e * model_.shape.heads + h) * head, head) + std::string(padding, '\0');
        }
      }
      return add(std::move(name), tensor.type, std::move(packed));
    }
    if (pad == 0) return add(std::move(name), tensor.type, tensor.data);
    std::string bytes;
    for (u64 i = 0; i < tensor.data.size(); i += head)
      bytes += tensor.data.substr(i, head) + std::string(padding, '\0');
    add(std::move(name), tensor.type, std::move(bytes));
  }

  LlamaModel& model_;
  const ReferenceOptions& options_;
  std::string codes_;
  ReferenceBump out_;
};

}  // namespace

ReferenceBump reference_bump(LlamaModel model, const ReferenceOptions& options) {
  return Writer(model, options).write();
}

}  // namespace modelutils::test
