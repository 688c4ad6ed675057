#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/escape.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/bump/bump5_layout.h"
#include "io/hash.h"
#include "json/value.h"
#include "model/format.h"
#include "rules/bump/bump5_rules.h"

namespace modelutils {

namespace {

using bump5::Entry;
using bump5::Header;
using json::Element;

constexpr u64 most_companion_text = u64{256} << 20;  // limit for metadata, manifest or map

// Numbers that header, manifest and metadata all contain.
constexpr std::array<Bump5Number, 10> top_numbers = {{
    {"num_layers", &Header::num_layers},
    {"embed_dim", &Header::embed_dim},
    {"num_heads", &Header::num_heads},
    {"num_kv_heads", &Header::num_kv_heads},
    {"head_dim", &Header::head_dim},
    {"intermediate_size", &Header::intermediate},
    {"vocab_size", &Header::vocab_size},
    {"context_length", &Header::context_len},
    {"num_merges", &Header::num_merges},
    {"total_vocab_bytes", &Header::vocab_bytes},
}};

std::string sha256_of(std::string_view text) {
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(text)));
  return hasher.hex_digest();
}

std::string canonical_member(Element object, std::string_view key) {
  const std::optional<Element> member = json::member(object, key);
  return member ? json::canonical_text(*member) : "null";
}

class CompanionReader {
 public:
  CompanionReader(const Bump5Model& model, const ModelFolder& folder, FindingLog& log)
      : file_(*model.file), document_(model.document), folder_(folder), log_(log) {}

  Result<Bump5Companions> read() {
    MU_TRY(read_metadata());
    read_manifest();
    if (out_.metadata && out_.manifest) compare();
    return std::move(out_);
  }

 private:
  void metadata_error(std::string message, std::string_view where = "metadata") {
    log_.error(Scope::model, "bump-metadata", std::move(message), where, document_.metadata->offset);
  }
  void manifest_error(std::string message, std::string_view where = {}) {
    log_.error(Scope::model, "bump-manifest", std::move(message), where, {}, bump5_manifest_name);
  }

  Status read_metadata() {
    if (!document_.metadata) return {};
    const bump5::MetadataPlace& place = *document_.metadata;
    if (place.size > most_companion_text) {
      metadata_error("is larger than " + byte_text(most_companion_text));
      return {};
    }
    std::string text(static_cast<std::size_t>(place.size), '\0');
    MU_TRY(file_.read_exact(place.offset, std::as_writable_bytes(std::span(text))));
    const std::string stated = hex(place.sha256);
    if (const std::string digest = sha256_of(text); digest != stated) {
      log_.error(Scope::data, "bump-checksum", fmt::format("is {}, but the metadata's is {}", stated, digest),
                 "footer sha256", document_.file_size - 32);
    }
    auto parsed = json::parse(text, "metadata");
    if (!parsed) {
      metadata_error("is not JSON: " + parsed.error().message);
      return {};
    }
    const Element root = (*parsed)->root;
    if (!root.is_object()) {
      metadata_error("is not a JSON object");
      return {};
    }
    if (json::canonical_text(root) != text) {
      metadata_error("is not in canonical form (sorted keys, no blanks, ASCII)");
    }
    if (json::u64_member(root, "schema_version") != 1u) metadata_error("is not 1", "metadata schema_version");
    if (json::string_member(root, "format") != "BUMPWGT5") metadata_error("is not BUMPWGT5", "metadata format");
    if (const auto hash = json::string_member(root, "template_hash");
        hash != sha256_of(canonical_member(root, "template"))) {
      metadata_error("is not the SHA-256 of the template", "metadata template_hash");
    }
    if (const auto config = json::object_member(root, "config")) {
      compare_bump5_numbers(*json::member(root, "config"), top_numbers, document_.header, "bump-metadata",
                            "metadata config", {}, log_);
    } else {
      metadata_error("is missing", "metadata config");
    }
    out_.metadata = std::move(*parsed);
    return {};
  }

  void read_manifest() {
    auto loaded = json::load_if_present(folder_, bump5_manifest_name, most_companion_text, json::Numbers::python);
    if (!loaded) return log_.add(without_path(loaded.error(), Scope::model, bump5_manifest_name));
    if (*loaded == nullptr) {
      log_.note(Scope::model, "bump-no-manifest",
                fmt::format("there is no {} next to the file, without which C-Kernel-Engine cannot use it",
                            bump5_manifest_name));
      return;
    }
    const Element root = (*loaded)->root;
    if (!root.is_object()) return manifest_error("is not a JSON object");
    out_.manifest = std::move(*loaded);
    compare_bump5_numbers(root, top_numbers, document_.header, "bump-manifest", "manifest", bump5_manifest_name, log_);
    if (json::object_member(root, "config")) {
      const Element config = *json::member(root, "config");
      compare_bump5_numbers(config, top_numbers, document_.header, "bump-manifest", "manifest config",
                            bump5_manifest_name, log_);
    } else {
      log_.add(document_.version == 5 ? Severity::error : Severity::warning, Scope::model, "bump-manifest",
               "is missing: C-Kernel-Engine does not know the model", "manifest config", {}, bump5_manifest_name);
    }
    read_entries(root);
  }

  void read_entries(Element root) {
    const auto entries = json::array_member(root, "entries");
    if (!entries) return manifest_error("is missing or not an array", "manifest entries");
    for (const Element element : *entries) {
      const auto name = json::string_member(element, "name");
      const auto dtype = json::string_member(element, "dtype");
      const auto offset = json::u64_member(element, "file_offset");
      const auto size = json::u64_member(element, "size");
      if (!name || !dtype || !offset || !size) {
        return manifest_error("has an element without name, dtype, file_offset or size", "manifest entries");
      }
      out_.entries.push_back({*name, *dtype, *offset, *size});
    }
  }

  // Compares the parts that metadata and manifest both contain.
  void compare() {
    const Element metadata = out_.metadata->root;
    const Element manifest = out_.manifest->root;
    for (const std::string_view key : {"config", "quant_summary", "template"}) {
      if (canonical_member(metadata, key) != canonical_member(manifest, key)) {
        manifest_error("is not what the metadata in the weights says", fmt::format("manifest {}", key));
      }
    }
    const auto hash = json::string_member(metadata, "manifest_hash");
    if (hash && *hash != sha256_of(json::canonical_text(manifest))) {
      manifest_error("is not the manifest whose hash the weights have");
    }
  }

  const RandomAccessFile& file_;
  const bump5::Document& document_;
  const ModelFolder& folder_;
  FindingLog& log_;
  Bump5Companions out_;
};

// Compares the type that quant_summary states for a matrix with the payload's.
void compare_summary(Element object, std::string_view key, std::string_view where, std::string_view word,
                     FindingLog& log) {
  const auto said = json::string_member(object, key);
  if (said == word) return;
  log.error(Scope::model, "bump-quant-summary",
            fmt::format("is {}, but the payload has {}: the engine chooses its kernel by this",
                        said ? *said : "missing", word),
            fmt::format("quant_summary {}", where), {}, bump5_manifest_name);
}

void check_quant_summary(Element summary, std::span<const Entry> entries, bool untied, FindingLog& log) {
  compare_summary(summary, "token_emb", "token_emb", entries[0].word(), log);
  compare_summary(summary, "lm_head", "lm_head", entries[untied ? 1 : 0].word(), log);
  std::optional<Element> layer;
  for (const Entry& entry : entries) {
    const bump5::RoleInfo& role = bump5::role_info(entry.slot.role);
    if (!role.in_layer || role.content != bump5::Content::matrix) continue;
    const std::string key = fmt::format("layer.{}", entry.slot.layer);
    if (entry.slot.role == bump5::Role::wq) layer = json::member(summary, key);
    if (layer) {
      compare_summary(*layer, role.name, fmt::format("{} {}", key, role.name), entry.word(), log);
    } else if (entry.slot.role == bump5::Role::wq) {
      log.error(Scope::model, "bump-quant-summary", "is missing: the engine computes NaN",
                fmt::format("quant_summary {}", key), {}, bump5_manifest_name);
    }
  }
}

// Compares listed entries with the payload's entries by name. Also reports repeated and missing names.
class EntryComparison {
 public:
  EntryComparison(std::span<const Entry> entries, std::string_view code, std::string_view file, FindingLog& log)
      : code_(code), file_(file), log_(log) {
    for (const Entry& entry : entries) expected_.emplace(entry.name(), Expected{entry});
  }

  void look_at(std::string_view name, std::string_view dtype, u64 offset, u64 size, std::string_view place) {
    const auto found = expected_.find(std::string(name));
    if (found == expected_.end()) return report("is not in the weights", name, place);
    Expected& expected = found->second;
    if (std::exchange(expected.seen, true)) return report("appears twice", name, place);
    const Entry& entry = expected.entry;
    if (dtype != entry.word()) {
      report(fmt::format("is {}, but the weights have {}", dtype, entry.word()), name, place);
    }
    if (offset != entry.offset || size != entry.size) {
      report(fmt::format("is {} bytes at {}, but in the weights {} at {}", size, offset, entry.size, entry.offset),
             name, place);
    }
  }

  void finish() {
    for (const auto& [name, expected] : expected_) {
      if (!expected.seen) report("is missing", name, {});
    }
  }

 private:
  struct Expected {
    Entry entry;
    bool seen = false;
  };
  void report(std::string message, std::string_view name, std::string_view place) {
    log_.error(Scope::model, code_, std::move(message),
               place.empty() ? fmt::format("entry {}", name) : fmt::format("{}: entry {}", place, name), {}, file_);
  }

  std::string_view code_, file_;
  FindingLog& log_;
  std::map<std::string, Expected> expected_;
};

}  // namespace

Result<Bump5Companions> read_bump5_companions(const Bump5Model& model, const ModelFolder& folder, FindingLog& log) {
  return CompanionReader(model, folder, log).read();
}

void check_bump5_entries(const Bump5Companions& companions, std::span<const Entry> entries, bool untied, u32 version,
                         FindingLog& log) {
  if (!companions.manifest) return;
  const Element root = companions.manifest->root;
  EntryComparison comparison(entries, "bump-manifest", bump5_manifest_name, log);
  for (const Bump5ManifestEntry& entry : companions.entries) {
    comparison.look_at(entry.name, entry.dtype, entry.offset, entry.size, {});
  }
  comparison.finish();
  if (json::object_member(root, "quant_summary")) {
    check_quant_summary(*json::member(root, "quant_summary"), entries, untied, log);
  } else {
    log.add(version == 5 ? Severity::error : Severity::warning, Scope::model, "bump-quant-summary",
            "is missing: C-Kernel-Engine chooses no kernels and computes NaN", "quant_summary", {},
            bump5_manifest_name);
  }
  if (const auto config = json::member(root, "config")) {
    const auto tied = json::bool_member(*config, "tie_word_embeddings");
    if (tied && *tied == untied) {
      log.error(Scope::model, "bump-manifest",
                fmt::format("is {}, but the weights have {} output.weight", *tied, untied ? "an" : "no"),
                "manifest config tie_word_embeddings", {}, bump5_manifest_name);
    }
  }
}

void check_bump5_map(const ModelFolder& folder, std::span<const Entry> entries, const bump5::Document& document,
                     FindingLog& log) {
  const auto file = open_side_file(folder, bump5_map_name);
  if (!file) return log.add(without_path(file.error(), Scope::model, bump5_map_name));
  if (*file == nullptr) {
    log.note(
        Scope::model, "bump-no-map",
        fmt::format("there is no {} next to the file; C-Kernel-Engine makes it from the manifest", bump5_map_name));
    return;
  }
  if ((*file)->file_size() > most_companion_text) {
    log.error(Scope::model, "bump-map", "is larger than " + byte_text(most_companion_text), {}, {}, bump5_map_name);
    return;
  }
  std::string text(static_cast<std::size_t>((*file)->file_size()), '\0');
  if (const Status read = (*file)->read_exact(0, std::as_writable_bytes(std::span(text))); !read) {
    return log.add(without_path(read.error(), Scope::model, bump5_map_name));
  }
  EntryComparison comparison(entries, "bump-map", bump5_map_name, log);
  bump5::visit_map(text, [&](u64 number, const std::optional<bump5::MapLine>& line) {
    const std::string place = fmt::format("line {}", number);
    const auto report = [&](std::string message) {
      log.error(Scope::model, "bump-map", std::move(message), place, {}, bump5_map_name);
    };
    if (!line) return report("is not name|dtype|file_offset|size|runtime_offset with three numbers");
    if (!entries.empty()) comparison.look_at(line->name, line->dtype, line->file_offset, line->size, place);
    if (!fits(line->file_offset, line->size, document.payload_end) || line->file_offset < document.payload_begin()) {
      report(fmt::format("{} bytes at {} lie outside the payload, which is {} to {}", line->size, line->file_offset,
                         document.payload_begin(), document.payload_end));
    }
    if (line->runtime_offset != line->file_offset) {
      report(
          fmt::format("runtime_offset is {} and not file_offset, {}: the engine would write outside the entry's memory",
                      line->runtime_offset, line->file_offset));
    }
  });
  if (!entries.empty()) comparison.finish();
}

namespace {

using bump5::Header;
using json::Element;

constexpr std::string_view file_name = "config.json";

constexpr std::array<Bump5Number, 9> numbers = {{
    {"num_hidden_layers", &Header::num_layers},
    {"hidden_size", &Header::embed_dim},
    {"intermediate_size", &Header::intermediate},
    {"num_attention_heads", &Header::num_heads},
    {"num_key_value_heads", &Header::num_kv_heads},
    {"vocab_size", &Header::vocab_size},
    {"max_position_embeddings", &Header::context_len},
    {"num_merges", &Header::num_merges},
    {"total_vocab_bytes", &Header::vocab_bytes},
}};
constexpr std::array<Bump5Number, 1> optional_numbers = {{{"head_dim", &Header::head_dim}}};

// A field of config.json that the manifest's config also has, perhaps under another name.
struct Twin {
  std::string_view key, in_manifest;
};
constexpr Twin twins[] = {
    {"model_type", "model"},
    {"rms_norm_eps", "rms_eps"},
    {"rope_theta", "rope_theta"},
    {"attn_out_dim", "attn_out_dim"},
    {"tie_word_embeddings", "tie_word_embeddings"},
    {"sliding_window", "sliding_window"},
    {"rope_layout", "rope_layout"},
    {"chat_template", "chat_template"},
    {"finetune", "finetune"},
    {"model_name", "model_name"},
    {"tokenizer_contract", "tokenizer_contract"},
};

class ConfigRules {
 public:
  ConfigRules(Element config, const bump5::Document& document, FindingLog& log)
      : config_(config), document_(document), log_(log) {}

  void check(const Bump5Companions& companions, bool untied) {
    compare_bump5_numbers(config_, numbers, document_.header, "bump-config", what, file_name, log_);
    compare_bump5_numbers(config_, optional_numbers, document_.header, "bump-config", what, file_name, log_);
    const auto tied = json::bool_member(config_, "tie_word_embeddings");
    if (tied && *tied == untied) {
      error(fmt::format("is {}, but the weights have {} output.weight", *tied, untied ? "an" : "no"),
            "tie_word_embeddings");
    }
    if (document_.version != 5 || !is_the_engines()) return;
    for (const Bump5Number& number : numbers) {
      if (!json::member(config_, number.key)) error("is missing", number.key);
    }
    const auto classes = json::member(config_, "architectures");
    if (!classes || json::canonical_text(*classes) != R"(["LlamaForCausalLM"])") {
      error("is not LlamaForCausalLM alone, as for every model of C-Kernel-Engine", "architectures");
    }
    if (!companions.manifest) return;
    const auto manifest = json::member(companions.manifest->root, "config");
    if (manifest) compare_twins(*manifest);
  }

 private:
  static constexpr std::string_view what = "config.json field";

  void error(std::string message, std::string_view key) {
    log_.error(Scope::model, "bump-config", std::move(message), fmt::format("{} {}", what, key), {}, file_name);
  }

  // True if config.json belongs to the engine. Beside the safetensors of an MLX model it is that model's own and has
  // none of these fields.
  bool is_the_engines() const {
    constexpr std::array<std::string_view, 4> own = {"attn_out_dim", "num_merges", "total_vocab_bytes", "rope_layout"};
    return std::ranges::count_if(own, [&](std::string_view key) { return json::member(config_, key).has_value(); }) > 1;
  }

  void compare_twins(Element manifest) {
    for (const Twin& twin : twins) {
      const auto own = json::member(config_, twin.key);
      const auto other = json::member(manifest, twin.in_manifest);
      if (!other || other->is_null()) continue;
      if (!own) {
        error("is missing, but the manifest's config has it", twin.key);
        continue;
      }
      const auto number = json::number_member(config_, twin.key);
      const bool is_equal = number ? number == json::number_member(manifest, twin.in_manifest)
                                   : json::canonical_text(*own) == json::canonical_text(*other);
      if (!is_equal) error(fmt::format("is not what the manifest's config says of {}", twin.in_manifest), twin.key);
    }
  }

  Element config_;
  const bump5::Document& document_;
  FindingLog& log_;
};

}  // namespace

void compare_bump5_numbers(Element object, std::span<const Bump5Number> shared, const Header& header,
                           std::string_view code, std::string_view what, std::string_view file, FindingLog& log) {
  for (const Bump5Number& number : shared) {
    const std::optional<Element> member = json::member(object, number.key);
    if (!member) continue;
    const std::optional<u64> value = json::u64_member(object, number.key);
    if (value == header.*number.value) continue;
    log.error(Scope::model, code,
              fmt::format("is {}, but the header says {}", value ? std::to_string(*value) : member->text(),
                          header.*number.value),
              fmt::format("{} {}", what, number.key), {}, file);
  }
}

void check_bump5_config(const ModelFolder& folder, const bump5::Document& document, const Bump5Companions& companions,
                        bool untied, FindingLog& log) {
  const auto loaded = json::load_if_present(folder, file_name, u64{16} << 20, json::Numbers::python);
  if (!loaded) return log.add(without_path(loaded.error(), Scope::model, file_name));
  if (*loaded == nullptr) {
    log.note(Scope::model, "bump-no-config",
             "there is no config.json next to the file: C-Kernel-Engine then lacks gemma3's sliding window");
    return;
  }
  const Element root = (*loaded)->root;
  if (!root.is_object()) {
    log.error(Scope::model, "hf-config-not-object", "is not a JSON object", {}, {}, file_name);
    return;
  }
  ConfigRules(root, document, log).check(companions, untied);
}

}  // namespace modelutils
