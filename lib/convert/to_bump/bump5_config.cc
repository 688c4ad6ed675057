#include "convert/to_bump/bump5_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/utf8.h"
#include "formats/bump/bump5_layout.h"
#include "io/hash.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace modelutils {

namespace {

// Keys below "tokenizer.ggml." from which special_tokens is made.
constexpr std::array<std::string_view, 8> special_keys = {"eos_token_id",     "bos_token_id",  "unknown_token_id",
                                                          "padding_token_id", "add_bos_token", "add_eos_token",
                                                          "add_space_prefix", "model"};

class Texts {
 public:
  Texts(const gguf::Index& index, const Bump5Mapping& mapping)
      : index_(index), mapping_(mapping), header_(mapping.header), out_(json::Writer::Style::pretty) {}

  std::string config_json() {
    {
      const auto in_object = out_.object();
      {
        const auto in_architectures = out_.array("architectures");
        out_.string("LlamaForCausalLM");  // in every model: the engine decides by model_type
      }
      out_.member("model_type", mapping_.hyper.stated.architecture);
      out_.member("num_hidden_layers", header_.num_layers);
      out_.member("hidden_size", header_.embed_dim);
      out_.member("intermediate_size", header_.intermediate);
      out_.member("num_attention_heads", header_.num_heads);
      out_.member("num_key_value_heads", header_.num_kv_heads);
      out_.member("vocab_size", header_.vocab_size);
      out_.member("max_position_embeddings", header_.context_len);
      decimal("rms_norm_eps", mapping_.hyper.rms_eps.value_or(0));
      decimal("rope_theta", mapping_.hyper.rope_theta);
      out_.member("attn_out_dim", header_.num_heads * header_.head_dim);
      out_.member("tie_word_embeddings", !mapping_.features.untied);
      out_.member("num_merges", header_.num_merges);
      out_.member("total_vocab_bytes", header_.vocab_bytes);
      if (mapping_.sliding_window != 0) out_.member("sliding_window", mapping_.sliding_window);
      out_.member("rope_layout", mapping_.family->engine.rope_layout);
      text("chat_template", "tokenizer.chat_template");
      text("finetune", "general.finetune");
      text("model_name", "general.name");
      write_tokenizer_contract(false);
    }
    return json::ascii_text(out_.text()) + "\n";
  }

  std::string manifest() {
    {
      const auto in_object = out_.object();
      out_.member("version", u64{5});
      out_.member("model", mapping_.hyper.stated.architecture);
      write_layout();
      write_engine_config();
      out_.null_member("template");
      write_quant_summary();
      write_special_tokens();
      write_tokenizer_contract(true);
      out_.null_member("chat_contract");
      out_.member("num_layers", header_.num_layers);
      out_.member("embed_dim", header_.embed_dim);
      out_.member("num_heads", header_.num_heads);
      out_.member("num_kv_heads", header_.num_kv_heads);
      out_.member("head_dim", header_.head_dim);
      out_.member("intermediate_size", header_.intermediate);
      out_.member("vocab_size", header_.vocab_size);
      out_.member("context_length", header_.context_len);
      out_.member("has_attention_biases", mapping_.has_attention_biases);
      out_.member("has_qk_norm", mapping_.features.qk_norms);
      out_.member("num_merges", header_.num_merges);
      out_.member("total_vocab_bytes", header_.vocab_bytes);
      write_entries();
    }
    return json::ascii_text(out_.text()) + "\n";
  }

 private:
  void decimal(std::string_view name, float value) {
    out_.key(name);
    out_.decimal(value);
  }

  // Writes a string key of the source unless it is absent or blank.
  void text(std::string_view name, std::string_view key) {
    const std::string_view value = index_.string_value(key).value_or("");
    if (value.find_first_not_of(" \t\n\v\f\r") == std::string_view::npos || !is_utf8(value)) return;
    out_.member(name, value);
  }

  void write_layout() {
    const auto in_bump_layout = out_.object("bump_layout");
    out_.member("header_size", u64{128});
    out_.member("ext_metadata_size", u64{24});
    out_.member("data_start", bump5::header_bytes);
    out_.member("description", "128 bytes of header, 24 bytes of extension, then the dtype table and the entries");
  }

  void write_engine_config() {
    const BumpHyperParameters& hyper = mapping_.hyper;
    const auto in_config = out_.object("config");
    out_.member("model", hyper.stated.architecture);
    out_.member("embed_dim", header_.embed_dim);
    out_.member("attn_out_dim", header_.num_heads * header_.head_dim);
    out_.member("num_layers", header_.num_layers);
    out_.member("num_heads", header_.num_heads);
    out_.member("num_kv_heads", header_.num_kv_heads);
    out_.member("head_dim", header_.head_dim);
    out_.member("intermediate_size", header_.intermediate);
    out_.member("context_length", header_.context_len);
    decimal("rope_theta", hyper.rope_theta);
    out_.member("rotary_dim", hyper.rope_dimensions);
    const RopeScalingKeys& scaling = mapping_.scaling;
    out_.member("rope_scaling_type", scaling.type.empty() ? std::string_view("none") : scaling.type);
    decimal("rope_scaling_factor", scaling.type.empty() ? 1 : static_cast<float>(scaling.factor.value_or(1)));
    out_.member("rope_original_context_length", hyper.stated.rope_context.number().value_or(header_.context_len));
    decimal("rope_beta_fast", 0);
    decimal("rope_beta_slow", 0);
    decimal("rope_attn_factor", 1);
    out_.member("vocab_size", header_.vocab_size);
    decimal("rms_eps", hyper.rms_eps.value_or(0));
    out_.member("tie_word_embeddings", !mapping_.features.untied);
    if (mapping_.family->engine.is_gemma) {
      out_.member("prefer_q8_0_contract", true);
      out_.member("prefer_fp32_logits", true);
      if (mapping_.sliding_window != 0) out_.member("sliding_window", mapping_.sliding_window);
    }
    text("chat_template", "tokenizer.chat_template");
    out_.member("rope_layout", mapping_.family->engine.rope_layout);
    text("finetune", "general.finetune");
    text("model_name", "general.name");
    write_tokenizer_contract(false);
  }

  void write_quant_summary() {
    using bump5::Role;
    out_.key("quant_summary");
    out_.begin_object();
    const std::string_view embedding = mapping_.entries.front().entry.word();
    out_.member("token_emb", embedding);
    out_.member("lm_head", mapping_.features.untied ? mapping_.entries[1].entry.word() : embedding);
    bool is_open = false;
    for (const Bump5Entry& entry : mapping_.entries) {
      const bump5::RoleInfo& role = bump5::role_info(entry.entry.slot.role);
      if (role.content != bump5::Content::matrix || !role.in_layer) continue;
      if (role.role == Role::wq) {
        out_.key(fmt::format("layer.{}", entry.entry.slot.layer));
        out_.begin_object();
        is_open = true;
      }
      out_.member(role.name, entry.entry.word());
      if (role.role == Role::w2 && is_open) out_.end_object();
    }
    out_.end_object();
  }

  void write_special_tokens() {
    const auto number = [&](std::string_view name, std::string_view suffix) {
      out_.member(name, index_.unsigned_value(fmt::format("tokenizer.ggml.{}", suffix)));
    };
    const auto truth = [&](std::string_view name) {
      out_.member(name, index_.bool_value(fmt::format("tokenizer.ggml.{}", name)));
    };
    out_.key("special_tokens");
    if (!has_special_tokens()) return out_.null();
    const auto in_object = out_.object();
    number("eos_token_id", "eos_token_id");
    number("bos_token_id", "bos_token_id");
    number("unk_token_id", "unknown_token_id");
    number("pad_token_id", "padding_token_id");
    truth("add_bos_token");
    truth("add_eos_token");
    truth("add_space_prefix");
    const std::string_view type = tokenizer_type();
    const std::string_view model = index_.string_value("tokenizer.ggml.model").value_or("");
    if (type == "bpe" || type == "wordpiece") {
      out_.member("tokenizer_model", type);
    } else if (!model.empty() && is_utf8(model)) {
      out_.member("tokenizer_model", model);
    }
  }

  bool has_special_tokens() const {
    return std::ranges::any_of(special_keys, [&](std::string_view suffix) {
      const std::string key = fmt::format("tokenizer.ggml.{}", suffix);
      return index_.unsigned_value(key) || index_.bool_value(key) || index_.string_value(key);
    });
  }

  std::string_view tokenizer_type() const {
    if (!mapping_.features.vocabulary) return {};
    return bump5_tokenizer_type(index_.string_value("tokenizer.ggml.model").value_or("")).value_or("");
  }

  void write_tokenizer_contract(bool null_if_unknown) {
    const std::string_view type = tokenizer_type();
    if (type.empty() && !null_if_unknown) return;
    out_.key("tokenizer_contract");
    if (type.empty()) return out_.null();
    const auto in_object = out_.object();
    out_.member("tokenizer_type", type);
    out_.member("source", "gguf_metadata");
  }

  void write_entries() {
    const auto in_entries = out_.array("entries");
    for (const Bump5Entry& entry : mapping_.entries) {
      const auto in_object = out_.object();
      out_.member("name", entry.entry.name());
      out_.member("dtype", entry.entry.word());
      out_.member("file_offset", entry.entry.offset);
      out_.member("size", entry.entry.size);
    }
  }

  const gguf::Index& index_;
  const Bump5Mapping& mapping_;
  const bump5::Header& header_;
  json::Writer out_;
};

std::string sha256_of(std::string_view text) {
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(text)));
  return hasher.hex_digest();
}

}  // namespace

std::string bump5_config_text(const gguf::Index& index, const Bump5Mapping& mapping) {
  return Texts(index, mapping).config_json();
}

std::string bump5_manifest_text(const gguf::Index& index, const Bump5Mapping& mapping) {
  return Texts(index, mapping).manifest();
}

std::string bump5_map_text(const Bump5Mapping& mapping) {
  std::vector<bump5::Entry> entries;
  entries.reserve(mapping.entries.size());
  for (const Bump5Entry& entry : mapping.entries) entries.push_back(entry.entry);
  return bump5::map_text(entries);
}

Result<std::string> bump5_metadata_text(const std::string& manifest, const std::string& creator) {
  MU_ASSIGN(const auto document, json::parse(manifest, "manifest"));
  const auto part = [&](std::string_view key) {
    const auto member = json::member(document->root, key);
    return member ? json::canonical_text(*member) : std::string("null");
  };
  const std::string no_template = "null";
  // Keys are sorted. There is no created_at, so that the same model gives the same file.
  return fmt::format(R"({{"config":{},"created_by":"{}","format":"BUMPWGT5","manifest_hash":"{}","quant_summary":{},)"
                     R"("schema_version":1,"template":{},"template_hash":"{}"}})",
                     part("config"), creator, sha256_of(json::canonical_text(document->root)), part("quant_summary"),
                     no_template, sha256_of(no_template));
}

}  // namespace modelutils
