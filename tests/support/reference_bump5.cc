#include "support/reference_bump5.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "io/hash.h"
#include "support/reference_blocks.h"

namespace modelutils::test {

namespace {

// ---- JSON, formatted like Python's json.dumps()

struct Json {
  using Members = std::vector<std::pair<std::string, Json>>;

  Json();
  Json(std::string printed, bool is_list, Members of);
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  std::string scalar;  // as printed; empty for an object or array
  bool is_array = false;
  Members members;  // names are empty in an array
};
// Defined here, because Json must be complete for its members.
Json::Json() = default;
Json::Json(std::string printed, bool is_list, Members of)
    : scalar(std::move(printed)), is_array(is_list), members(std::move(of)) {}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json text(std::string_view value) {
  return {'"' + std::string(value) + '"', false, {}};  // the tests' texts need no escapes
}
Json number(u64 value) {
  return {std::to_string(value), false, {}};
}
Json decimal(float value) {
  const std::string digits = fmt::format("{}", value);
  return {digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits, false, {}};
}
Json truth(bool value) {
  return {value ? "true" : "false", false, {}};
}
const Json null_value = {"null", false, {}};

std::string pretty(const Json& value, std::size_t depth = 0) {
  if (!value.scalar.empty()) return value.scalar;
  std::string out = value.is_array ? "[" : "{";
  for (const auto& [name, member] : value.members) {
    out += out.size() == 1 ? "\n" : ",\n";
    out += std::string(2 * depth + 2, ' ');
    if (!value.is_array) out += '"' + name + "\": ";
    out += pretty(member, depth + 1);
  }
  return out + '\n' + std::string(2 * depth, ' ') + (value.is_array ? "]" : "}");
}

std::string canonical(const Json& value) {
  if (!value.scalar.empty()) return value.scalar;
  std::vector<std::pair<std::string, Json>> members = value.members;
  if (!value.is_array) std::sort(members.begin(), members.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [name, member] : members) {
    if (!out.empty()) out += ',';
    if (!value.is_array) out += '"' + name + "\":";
    out += canonical(member);
  }
  return value.is_array ? '[' + out + ']' : '{' + out + '}';
}

std::string sha256(std::string_view bytes, bool hexadecimal) {
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(bytes)));
  return hexadecimal ? hasher.hex_digest() : hasher.digest();
}

template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// ---- types

enum class Use { matrix, embedding, gemma };

struct Carried {
  u32 from;
  u32 matrix, embedding, gemma;  // 999: refused
};
constexpr Carried carried[] = {
    {ggml_f32, ggml_f32, ggml_f32, ggml_f32},     {ggml_f16, ggml_f16, ggml_f32, ggml_f32},
    {ggml_bf16, ggml_f32, ggml_f32, ggml_f32},    {ggml_q8_0, ggml_q8_0, ggml_q8_0, ggml_q8_0},
    {ggml_q4_k, ggml_q4_k, ggml_q4_k, 999},       {ggml_q6_k, ggml_q6_k, ggml_q6_k, 999},
    {ggml_q5_0, ggml_q5_0, ggml_q8_0, ggml_q8_0}, {ggml_q5_1, ggml_q5_1, ggml_f32, ggml_q5_1},
    {ggml_q5_k, ggml_q5_k, ggml_f32, 999},        {ggml_q4_0, ggml_q8_0, ggml_q8_0, ggml_q8_0},
    {ggml_q4_1, ggml_q5_1, ggml_f32, ggml_q5_1},
};

u32 carried_type(u32 from, Use use) {
  for (const Carried& row : carried) {
    if (row.from != from) continue;
    return use == Use::matrix ? row.matrix : use == Use::embedding ? row.embedding : row.gemma;
  }
  std::abort();
}

struct Named {
  u32 type;
  const char* word;
  u8 code;
};
constexpr Named names[] = {
    {ggml_f32, "fp32", 0},   {ggml_f16, "fp16", 2},   {ggml_q4_k, "q4_k", 7},
    {ggml_q6_k, "q6_k", 8},  {ggml_q8_0, "q8_0", 9},  {ggml_q5_0, "q5_0", 11},
    {ggml_q5_1, "q5_1", 12}, {ggml_q5_k, "q5_k", 13}, {ggml_q4_0, "q4_0", 5},
};
const Named& named(u32 type) {
  for (const Named& row : names) {
    if (row.type == type) return row;
  }
  std::abort();
}

class Writer {
 public:
  Writer(LlamaModel& model, const Bump5Traits& traits, u64 context)
      : model_(model), s_(model.shape), traits_(traits), context_(context == 0 ? model.shape.context : context) {}

  ReferenceBump5 write(const std::string& creator) {
    add_entries();
    lay_out();
    const Json config = engine_config();
    const Json manifest = manifest_of(config);
    out_.manifest = pretty(manifest) + "\n";
    out_.config = pretty(config_json()) + "\n";
    out_.map = "# ck-bumpwgt5-manifest-map v1\n# name|dtype|file_offset|size|runtime_offset\n";
    std::vector<ReferenceEntry5> ordered = out_.entries;
    for (std::size_t i = 0; i + 1 < ordered.size(); ++i) {
      if (ordered[i].bytes.empty()) std::swap(ordered[i], ordered[i + 1]), ++i;
    }
    for (const ReferenceEntry5& e : ordered) {
      out_.map +=
          fmt::format("{}|{}|0x{:016X}|0x{:016X}|0x{:016X}\n", e.name, e.dtype, e.offset, e.bytes.size(), e.offset);
    }
    const Json metadata = {"",
                           false,
                           {{"schema_version", number(1)},
                            {"format", text("BUMPWGT5")},
                            {"created_by", text(creator)},
                            {"template", null_value},
                            {"config", config},
                            {"quant_summary", quant_summary_},
                            {"template_hash", text(sha256("null", true))},
                            {"manifest_hash", text(sha256(canonical(manifest), true))}}};
    const std::string bytes = canonical(metadata);
    out_.weights += bytes + "BUMPV5MD";
    put<u64>(out_.weights, bytes.size());
    out_.weights += sha256(bytes, false);
    return std::move(out_);
  }

 private:
  bool is_gemma() const { return s_.architecture == "gemma3"; }
  bool has_qk_norms() const { return is_gemma() || s_.architecture == "qwen3"; }
  const LlamaTensor* find(const std::string& name) const {
    for (const LlamaTensor& tensor : model_.tensors) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }

  void add(std::string name, std::string dtype, std::string bytes) {
    out_.entries.push_back({std::move(name), std::move(dtype), 0, std::move(bytes)});
  }
  void code(u8 value) { codes_ += static_cast<char>(value); }

  u32 matrix(const std::string& name, const std::vector<std::string>& sources, Use use) {
    std::string bytes;
    u32 type = 0;
    for (const std::string& source : sources) {
      const LlamaTensor& tensor = model_.tensor(source);
      type = traits_.as_is ? tensor.type : carried_type(tensor.type, use);
      bytes += reference_blocks(tensor.type, type, tensor.data);
    }
    code(named(type).code);
    add(name, named(type).word, bytes);
    return type;
  }

  // Returns norms and biases in float32; zeros if the tensor is absent.
  std::string floats(const std::string& source, u64 length) const {
    const LlamaTensor* tensor = find(source);
    if (tensor == nullptr) return std::string(length * 4, '\0');
    return reference_blocks(tensor->type, ggml_f32, tensor->data);
  }
  void vector(const std::string& name, const std::string& source, u64 length, bool has_code = true) {
    if (has_code) code(0);
    add(name, "fp32", floats(source, length));
  }

  void add_entries() {
    const u32 embedding = matrix("token_emb", {"token_embd.weight"}, Use::embedding);
    quant_summary_.members.push_back({"token_emb", text(named(embedding).word)});
    untied_ = find("output.weight") != nullptr;
    const u32 head = untied_ ? matrix("output.weight", {"output.weight"}, Use::matrix) : embedding;
    quant_summary_.members.push_back({"lm_head", text(named(head).word)});
    code(0);  // pos_emb
    if (!traits_.vocabulary.tokens.empty()) add_vocabulary();
    for (u64 n = 0; n < s_.layers; ++n) add_layer(n);
    vector("final_ln_weight", "output_norm.weight", s_.embed);
    vector("final_ln_bias", "", s_.embed);
  }

  void add_layer(u64 n) {
    const auto name = [&](std::string_view role) { return fmt::format("layer.{}.{}", n, role); };
    const auto source = [&](std::string_view role) { return fmt::format("blk.{}.{}", n, role); };
    const u64 queries = s_.heads * s_.head_dim;
    const u64 keys = s_.kv_heads * s_.head_dim;
    Json summary;
    const auto add_matrix = [&](const char* role, const std::vector<std::string>& sources, Use use) {
      summary.members.push_back({role, text(named(matrix(name(role), sources, use)).word)});
    };
    vector(name("ln1_gamma"), source("attn_norm.weight"), s_.embed);
    vector(name("ln2_gamma"), source("ffn_norm.weight"), s_.embed);
    if (is_gemma()) {
      vector(name("post_attention_norm"), source("post_attention_norm.weight"), s_.embed);
      const std::string usual = source("post_ffw_norm.weight");
      vector(name("post_ffn_norm"), find(usual) != nullptr ? usual : source("post_ffn_norm.weight"), s_.embed);
    }
    add_matrix("wq", {source("attn_q.weight")}, Use::matrix);
    vector(name("bq"), source("attn_q.bias"), queries);
    if (has_qk_norms()) vector(name("q_norm"), source("attn_q_norm.weight"), s_.head_dim, false);
    add_matrix("wk", {source("attn_k.weight")}, Use::matrix);
    vector(name("bk"), source("attn_k.bias"), keys);
    if (has_qk_norms()) vector(name("k_norm"), source("attn_k_norm.weight"), s_.head_dim, false);
    add_matrix("wv", {source("attn_v.weight")}, Use::matrix);
    vector(name("bv"), source("attn_v.bias"), keys);
    add_matrix("wo", {source("attn_output.weight")}, Use::matrix);
    vector(name("bo"), source("attn_output.bias"), s_.embed);
    add_matrix("w1", {source("ffn_gate.weight"), source("ffn_up.weight")}, is_gemma() ? Use::gemma : Use::matrix);
    code(0);
    add(name("b1"), "fp32",
        floats(source("ffn_gate.bias"), s_.intermediate) + floats(source("ffn_up.bias"), s_.intermediate));
    add_matrix("w2", {source("ffn_down.weight")}, Use::matrix);
    vector(name("b2"), source("ffn_down.bias"), s_.embed);
    quant_summary_.members.push_back({fmt::format("layer.{}", n), summary});
  }

  void add_vocabulary() {
    std::vector<std::string> tokens = traits_.vocabulary.tokens;
    tokens.resize(std::min<u64>(tokens.size(), s_.vocab));
    while (tokens.size() < s_.vocab) tokens.push_back(fmt::format("<|pad_{}|>", tokens.size()));
    std::string offsets, strings, scores, types, merges;
    std::map<std::string, i32> ids;
    for (u64 id = 0; id < s_.vocab; ++id) {
      put<i32>(offsets, static_cast<i32>(strings.size()));
      strings += tokens[id] + '\0';
      ids[tokens[id]] = static_cast<i32>(id);
      put<float>(scores, id < traits_.vocabulary.scores.size() ? traits_.vocabulary.scores[id] : 0.0f);
      types += static_cast<char>(id < traits_.vocabulary.types.size() ? traits_.vocabulary.types[id] : 0);
    }
    for (const std::string& merge : traits_.vocabulary.merges) {
      const std::string left = merge.substr(0, merge.find(' '));
      const std::string right = merge.substr(merge.find(' ') + 1);
      if (ids.count(left) == 0 || ids.count(right) == 0 || ids.count(left + right) == 0) continue;
      for (const std::string& part : {left, right, left + right}) put<i32>(merges, ids[part]);
      ++merge_count_;
    }
    vocab_bytes_ = strings.size();
    add("vocab_offsets", "i32", offsets);
    add("vocab_strings", "u8", strings);
    add("vocab_scores", "f32", scores);
    add("vocab_types", "u8", types);
    add("vocab_merges", "i32", merges);
  }

  void lay_out() {
    std::string payload;
    put<u32>(payload, static_cast<u32>(codes_.size()));
    payload += codes_;
    for (ReferenceEntry5& entry : out_.entries) {
      entry.offset = 152 + payload.size();
      payload += entry.bytes;
    }
    std::string& file = out_.weights;
    file = "BUMPWGT5";
    for (const u64 field : {u64{5}, u64{1}, s_.layers, s_.vocab, s_.embed, s_.intermediate, context_, s_.heads,
                            s_.kv_heads, s_.head_dim}) {
      put<u32>(file, static_cast<u32>(field));
    }
    for (const u64 field : {s_.embed, s_.head_dim, s_.intermediate, (context_ + 15) / 16 * 16}) put<u64>(file, field);
    put<u32>(file, static_cast<u32>(merge_count_));
    put<u32>(file, static_cast<u32>(vocab_bytes_));
    file += sha256(payload, false) + std::string(32, '\0') + payload;
    out_.payload_end = file.size();
  }

  bool is_bpe() const { return traits_.vocabulary.model == "gpt2"; }
  Json tokenizer_contract() const {
    return {
        "", false, {{"tokenizer_type", text(is_bpe() ? "bpe" : "sentencepiece")}, {"source", text("gguf_metadata")}}};
  }
  std::string rope_layout() const { return s_.architecture == "llama" ? "pairwise" : "split"; }

  Json engine_config() const {
    const bool scaled = traits_.linear_scaling != 1;
    Json config = {"",
                   false,
                   {{"model", text(s_.architecture)},
                    {"embed_dim", number(s_.embed)},
                    {"attn_out_dim", number(s_.heads * s_.head_dim)},
                    {"num_layers", number(s_.layers)},
                    {"num_heads", number(s_.heads)},
                    {"num_kv_heads", number(s_.kv_heads)},
                    {"head_dim", number(s_.head_dim)},
                    {"intermediate_size", number(s_.intermediate)},
                    {"context_length", number(context_)},
                    {"rope_theta", decimal(model_.rope_theta)},
                    {"rotary_dim", number(s_.head_dim)},
                    {"rope_scaling_type", text(scaled ? "linear" : "none")},
                    {"rope_scaling_factor", decimal(traits_.linear_scaling)},
                    {"rope_original_context_length", number(context_)},
                    {"rope_beta_fast", decimal(0)},
                    {"rope_beta_slow", decimal(0)},
                    {"rope_attn_factor", decimal(1)},
                    {"vocab_size", number(s_.vocab)},
                    {"rms_eps", decimal(model_.rms_eps)},
                    {"tie_word_embeddings", truth(!untied_)}}};
    if (is_gemma()) {
      config.members.push_back({"prefer_q8_0_contract", truth(true)});
      config.members.push_back({"prefer_fp32_logits", truth(true)});
      if (traits_.sliding_window != 0) config.members.push_back({"sliding_window", number(traits_.sliding_window)});
    }
    config.members.push_back({"rope_layout", text(rope_layout())});
    config.members.push_back({"model_name", text(traits_.name)});
    if (!traits_.vocabulary.tokens.empty()) config.members.push_back({"tokenizer_contract", tokenizer_contract()});
    return config;
  }

  Json config_json() const {
    const Json classes = {"", true, {{"", text("LlamaForCausalLM")}}};
    Json config = {"",
                   false,
                   {{"architectures", classes},
                    {"model_type", text(s_.architecture)},
                    {"num_hidden_layers", number(s_.layers)},
                    {"hidden_size", number(s_.embed)},
                    {"intermediate_size", number(s_.intermediate)},
                    {"num_attention_heads", number(s_.heads)},
                    {"num_key_value_heads", number(s_.kv_heads)},
                    {"vocab_size", number(s_.vocab)},
                    {"max_position_embeddings", number(context_)},
                    {"rms_norm_eps", decimal(model_.rms_eps)},
                    {"rope_theta", decimal(model_.rope_theta)},
                    {"attn_out_dim", number(s_.heads * s_.head_dim)},
                    {"tie_word_embeddings", truth(!untied_)},
                    {"num_merges", number(merge_count_)},
                    {"total_vocab_bytes", number(vocab_bytes_)}}};
    if (traits_.sliding_window != 0) config.members.push_back({"sliding_window", number(traits_.sliding_window)});
    config.members.push_back({"rope_layout", text(rope_layout())});
    config.members.push_back({"model_name", text(traits_.name)});
    if (!traits_.vocabulary.tokens.empty()) config.members.push_back({"tokenizer_contract", tokenizer_contract()});
    return config;
  }

  Json manifest_of(const Json& config) const {
    Json entries;
    entries.is_array = true;
    for (const ReferenceEntry5& e : out_.entries) {
      entries.members.push_back({"", Json{"",
                                          false,
                                          {{"name", text(e.name)},
                                           {"dtype", text(e.dtype)},
                                           {"file_offset", number(e.offset)},
                                           {"size", number(e.bytes.size())}}}});
    }
    const Json layout = {
        "",
        false,
        {{"header_size", number(128)},
         {"ext_metadata_size", number(24)},
         {"data_start", number(152)},
         {"description", text("128 bytes of header, 24 bytes of extension, then the dtype table and the entries")}}};
    Json special;
    if (!traits_.vocabulary.tokens.empty()) {
      special.members = {{"eos_token_id", number(2)},
                         {"bos_token_id", number(1)},
                         {"add_bos_token", truth(true)},
                         {"tokenizer_model", text(is_bpe() ? "bpe" : traits_.vocabulary.model)}};
    } else {
      special = null_value;
    }
    return {"",
            false,
            {{"version", number(5)},
             {"model", text(s_.architecture)},
             {"bump_layout", layout},
             {"config", config},
             {"template", null_value},
             {"quant_summary", quant_summary_},
             {"special_tokens", special},
             {"tokenizer_contract", traits_.vocabulary.tokens.empty() ? null_value : tokenizer_contract()},
             {"chat_contract", null_value},
             {"num_layers", number(s_.layers)},
             {"embed_dim", number(s_.embed)},
             {"num_heads", number(s_.heads)},
             {"num_kv_heads", number(s_.kv_heads)},
             {"head_dim", number(s_.head_dim)},
             {"intermediate_size", number(s_.intermediate)},
             {"vocab_size", number(s_.vocab)},
             {"context_length", number(context_)},
             {"has_attention_biases", truth(find("blk.0.attn_q.bias") != nullptr)},
             {"has_qk_norm", truth(has_qk_norms())},
             {"num_merges", number(merge_count_)},
             {"total_vocab_bytes", number(vocab_bytes_)},
             {"entries", entries}}};
  }

  LlamaModel& model_;
  const LlamaShape& s_;
  const Bump5Traits& traits_;
  u64 context_;
  bool untied_ = false;
  u64 merge_count_ = 0;
  u64 vocab_bytes_ = 0;
  std::string codes_;
  Json quant_summary_;
  ReferenceBump5 out_;
};

}  // namespace

LlamaModel bump5_model(const LlamaShape& shape, const Bump5Traits& traits) {
  LlamaModel model(shape);
  const bool is_gemma = shape.architecture == "gemma3";
  for (u64 n = 0; n < shape.layers; ++n) {
    const auto block = [&](std::string_view role) { return fmt::format("blk.{}.{}", n, role); };
    if (is_gemma || shape.architecture == "qwen3") {
      model.add(block("attn_q_norm.weight"), {shape.head_dim}, shape.norm_type);
      model.add(block("attn_k_norm.weight"), {shape.head_dim}, shape.norm_type);
    }
    if (!is_gemma) continue;
    model.add(block("post_attention_norm.weight"), {shape.embed}, shape.norm_type);
    model.add(block("post_ffw_norm.weight"), {shape.embed}, shape.norm_type);
  }
  const std::string architecture = shape.architecture;
  model.more_keys = [traits, architecture](GgufBuilder& file) {
    file.key_string("general.name", traits.name);
    if (traits.linear_scaling != 1) {
      file.key_string(architecture + ".rope.scaling.type", "linear");
      file.key_f32(architecture + ".rope.scaling.factor", traits.linear_scaling);
    }
    if (traits.sliding_window != 0) file.key_u32(architecture + ".attention.sliding_window", traits.sliding_window);
    const TinyTokens& v = traits.vocabulary;
    if (v.tokens.empty()) return;
    file.key_string("tokenizer.ggml.model", v.model);
    file.key_strings("tokenizer.ggml.tokens", v.tokens);
    if (!v.scores.empty()) file.key_array("tokenizer.ggml.scores", v.scores);
    if (!v.types.empty()) file.key_array("tokenizer.ggml.token_type", v.types);
    if (!v.merges.empty()) file.key_strings("tokenizer.ggml.merges", v.merges);
    file.key_u32("tokenizer.ggml.bos_token_id", 1);
    file.key_u32("tokenizer.ggml.eos_token_id", 2);
    file.key_bool("tokenizer.ggml.add_bos_token", 1);
  };
  return model;
}

TinyTokens tiny_tokens(std::string model) {
  TinyTokens out;
  out.tokens = {"<unk>", "<s>", "</s>", "a", "b", "ab", "\xC4\xA0", "c", "\xE2\x96\x81t", "d", "e", "f"};
  out.types = {2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  if (model == "gpt2") {
    out.merges = {"a b", "c z"};
  } else {
    for (std::size_t i = 0; i < out.tokens.size(); ++i) out.scores.push_back(-static_cast<float>(i) / 4);
  }
  out.model = std::move(model);
  return out;
}

ReferenceBump5 reference_bump5(LlamaModel model, const Bump5Traits& traits, const std::string& creator, u64 context) {
  return Writer(model, traits, context).write(creator);
}

}  // namespace modelutils::test
