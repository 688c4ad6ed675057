#include "support/hf_directory.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "formats/safetensors/parse.h"
#include "json/writer.h"
#include "tensor/half.h"

namespace modelutils::test {

namespace {

void save(const std::string& path, std::string_view content) {
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!out.flush()) std::abort();
}

std::string encode(const HfTensor& tensor) {
  std::string bytes;
  for (float value : tensor.values) {
    if (tensor.type == TensorType::F32) {
      bytes.append(reinterpret_cast<const char*>(&value), 4);
    } else if (tensor.type == TensorType::U32) {
      const u32 word = static_cast<u32>(value);
      bytes.append(reinterpret_cast<const char*>(&word), 4);
    } else {
      const u16 half = tensor.type == TensorType::F16 ? f32_to_f16(value) : f32_to_bf16(value);
      bytes.append(reinterpret_cast<const char*>(&half), 2);
    }
  }
  return bytes;
}

std::string utf8(u32 point) {
  std::string text;
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else {
    text += static_cast<char>(0xC0 | (point >> 6));
    text += static_cast<char>(0x80 | (point & 0x3F));
  }
  return text;
}

// Returns a byte-level BPE tokenizer with all byte symbols, a few merges, and GPT-2's pre-tokenizer.
std::string byte_level_tokenizer() {
  json::Writer out;
  out.begin_object();
  out.key("added_tokens");
  out.begin_array();
  out.begin_object();
  out.member("id", u64{258});
  out.member("content", "<|endoftext|>");
  out.member("special", true);
  out.end_object();
  out.end_array();
  for (const char* key : {"pre_tokenizer", "decoder"}) {
    out.key(key);
    out.begin_object();
    out.member("type", "ByteLevel");
    out.member("add_prefix_space", false);
    out.member("use_regex", true);
    out.end_object();
  }
  out.key("model");
  out.begin_object();
  out.member("type", "BPE");
  out.key("vocab");
  out.begin_object();
  u64 id = 0;
  u32 extra = 256;
  for (u32 byte = 0; byte < 256; ++byte) {
    const bool plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    out.member(utf8(plain ? byte : extra++), id++);
  }
  out.member("ab", id++);
  out.member("abc", id++);
  out.end_object();
  out.key("merges");
  out.begin_array();
  out.string("a b");
  out.string("ab c");
  out.end_array();
  out.end_object();
  out.end_object();
  return out.text();
}

std::string number(u64 value) {
  return std::to_string(value);
}

}  // namespace

void HfDirectory::add(const std::string& name, std::vector<u64> shape) {
  HfTensor tensor;
  u64 count = 1;
  for (u64 dim : shape) count *= dim;
  std::mt19937 random(static_cast<u32>(tensors.size()) + 1);
  std::normal_distribution<float> normal(0.0f, 0.5f);
  // Use values that f16 and bf16 hold exactly, so that tests can choose any stored type.
  for (u64 i = 0; i < count; ++i) tensor.values.push_back(bf16_to_f32(f32_to_bf16(normal(random))));
  tensor.shape = std::move(shape);
  tensors[name] = std::move(tensor);
}

void HfDirectory::write(const std::string& folder) const {
  std::vector<safetensors::OutTensor> infos;
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    infos.push_back({name, tensor.type, tensor.shape});
    data += encode(tensor);
  }
  const auto layout = safetensors::layout({{"format", format}}, infos);
  if (!layout) std::abort();
  save(folder + "/model.safetensors", layout->header + data);
  std::string text = "{";
  for (const auto& [key, value] : config) text += (text.size() > 1 ? ",\"" : "\"") + key + "\":" + value;
  save(folder + "/config.json", text + "}");
  if (!tokenizer_json.empty()) {
    save(folder + "/tokenizer.json", tokenizer_json);
    save(folder + "/tokenizer_config.json", R"({"eos_token":"<|endoftext|>","bos_token":"<|endoftext|>"})");
  }
}

HfDirectory hf_directory(std::string_view type) {
  HfDirectory model;
  const bool gemma = type.starts_with("gemma");
  const bool gemma23 = type == "gemma2" || type == "gemma3_text";
  const bool qwen_moe = type == "qwen2_moe" || type == "qwen3_moe";
  const bool has_qk_norm = type == "qwen3" || type == "qwen3_moe" || type == "gemma3_text";
  const bool has_bias = type == "qwen2" || type == "qwen2_moe";
  static const std::map<std::string_view, std::string> classes = {
      {"llama", "LlamaForCausalLM"},        {"mistral", "MistralForCausalLM"},    {"mixtral", "MixtralForCausalLM"},
      {"qwen2", "Qwen2ForCausalLM"},        {"qwen2_moe", "Qwen2MoeForCausalLM"}, {"qwen3", "Qwen3ForCausalLM"},
      {"qwen3_moe", "Qwen3MoeForCausalLM"}, {"gemma", "GemmaForCausalLM"},        {"gemma2", "Gemma2ForCausalLM"},
      {"gemma3_text", "Gemma3ForCausalLM"}, {"phi3", "Phi3ForCausalLM"}};
  model.config = {{"architectures", "[\"" + classes.at(type) + "\"]"},
                  {"model_type", "\"" + std::string(type) + "\""},
                  {"num_hidden_layers", number(hf_layers)},
                  {"hidden_size", number(hf_embd)},
                  {"intermediate_size", number(hf_ff)},
                  {"num_attention_heads", number(hf_heads)},
                  {"num_key_value_heads", number(hf_heads_kv)},
                  {"head_dim", number(hf_head_dim)},
                  {"vocab_size", number(hf_vocab)},
                  {"max_position_embeddings", "512"},
                  {"rms_norm_eps", "1e-05"},
                  {"rope_theta", "10000.0"},
                  {"hidden_act", gemma ? "\"gelu_pytorch_tanh\"" : "\"silu\""}};
  model.add("model.embed_tokens.weight", {hf_vocab, hf_embd});
  model.add("model.norm.weight", {hf_embd});
  if (!gemma) model.add("lm_head.weight", {hf_vocab, hf_embd});
  for (u64 layer = 0; layer < hf_layers; ++layer) {
    const std::string p = "model.layers." + number(layer) + ".";
    model.add(p + "input_layernorm.weight", {hf_embd});
    model.add(p + "post_attention_layernorm.weight", {hf_embd});
    if (gemma23) {
      model.add(p + "pre_feedforward_layernorm.weight", {hf_embd});
      model.add(p + "post_feedforward_layernorm.weight", {hf_embd});
    }
    const u64 q = hf_heads * hf_head_dim;
    const u64 kv = hf_heads_kv * hf_head_dim;
    if (type == "phi3") {
      model.add(p + "self_attn.qkv_proj.weight", {q + 2 * kv, hf_embd});
      model.add(p + "mlp.gate_up_proj.weight", {2 * hf_ff, hf_embd});
      model.add(p + "mlp.down_proj.weight", {hf_embd, hf_ff});
      model.add(p + "self_attn.o_proj.weight", {hf_embd, q});
      continue;
    }
    for (const auto& [name, rows] : {std::pair{"q_proj", q}, {"k_proj", kv}, {"v_proj", kv}}) {
      model.add(p + "self_attn." + name + ".weight", {rows, hf_embd});
      if (has_bias) model.add(p + "self_attn." + name + ".bias", {rows});
    }
    model.add(p + "self_attn.o_proj.weight", {hf_embd, q});
    if (has_qk_norm) {
      model.add(p + "self_attn.q_norm.weight", {hf_head_dim});
      model.add(p + "self_attn.k_norm.weight", {hf_head_dim});
    }
    if (type == "mixtral") {
      model.add(p + "block_sparse_moe.gate.weight", {hf_experts, hf_embd});
      for (u64 e = 0; e < hf_experts; ++e) {
        const std::string expert = p + "block_sparse_moe.experts." + number(e);
        model.add(expert + ".w1.weight", {hf_ff, hf_embd});
        model.add(expert + ".w2.weight", {hf_embd, hf_ff});
        model.add(expert + ".w3.weight", {hf_ff, hf_embd});
      }
    } else if (qwen_moe) {
      model.add(p + "mlp.gate.weight", {hf_experts, hf_embd});
      for (u64 e = 0; e < hf_experts; ++e) {
        const std::string expert = p + "mlp.experts." + number(e);
        model.add(expert + ".gate_proj.weight", {hf_ff_expert, hf_embd});
        model.add(expert + ".up_proj.weight", {hf_ff_expert, hf_embd});
        model.add(expert + ".down_proj.weight", {hf_embd, hf_ff_expert});
      }
      if (type == "qwen2_moe") {
        model.add(p + "mlp.shared_expert_gate.weight", {1, hf_embd});
        model.add(p + "mlp.shared_expert.gate_proj.weight", {hf_ff_shared, hf_embd});
        model.add(p + "mlp.shared_expert.up_proj.weight", {hf_ff_shared, hf_embd});
        model.add(p + "mlp.shared_expert.down_proj.weight", {hf_embd, hf_ff_shared});
      }
    } else {
      model.add(p + "mlp.gate_proj.weight", {hf_ff, hf_embd});
      model.add(p + "mlp.up_proj.weight", {hf_ff, hf_embd});
      model.add(p + "mlp.down_proj.weight", {hf_embd, hf_ff});
    }
  }
  if (type == "mixtral" || qwen_moe) {
    model.config[type == "mixtral" ? "num_local_experts" : "num_experts"] = number(hf_experts);
    model.config["num_experts_per_tok"] = "2";
  }
  if (qwen_moe) model.config["moe_intermediate_size"] = number(hf_ff_expert);
  if (type == "qwen2_moe") model.config["shared_expert_intermediate_size"] = number(hf_ff_shared);
  if (gemma23) model.config["sliding_window"] = "256";
  model.tokenizer_json = byte_level_tokenizer();
  return model;
}

}  // namespace modelutils::test
