// Model cards: reads the YAML front matter of README.md (names, licence, base models, tags, languages) one libyaml
// event at a time, and writes README.md from the general.* keys of a GGUF.
#pragma once

#include <yaml.h>

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/types.h"
#include "formats/gguf/split_set.h"
#include "io/model_folder.h"

namespace modelutils::hf {

// Reads libyaml's events of a text one at a time. A reader can stop at the first event that it does not need, so deeply
// nested values are never read.

class YamlEvents {
 public:
  /// `text` must be UTF-8 without a byte order mark, and outlive the object.
  explicit YamlEvents(std::string_view text) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    const char* const input = text.empty() ? "" : text.data();  // libyaml does not accept a null pointer
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(input), text.size());
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  ~YamlEvents() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  YamlEvents(const YamlEvents&) = delete;
  YamlEvents& operator=(const YamlEvents&) = delete;

  /// Advances to the next event and returns its type; YAML_NO_EVENT after an error.
  yaml_event_type_t next() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) == 0) {
      event_ = {};
      if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
    }
    return event_.type;
  }

  /// Properties of the event that next() returned. Lines count from 1.
  u64 line() const { return event_.start_mark.line + 1; }
  bool has_anchor_or_tag() const {
    switch (event_.type) {
      case YAML_SCALAR_EVENT: return event_.data.scalar.anchor != nullptr || event_.data.scalar.tag != nullptr;
      case YAML_SEQUENCE_START_EVENT:
        return event_.data.sequence_start.anchor != nullptr || event_.data.sequence_start.tag != nullptr;
      case YAML_MAPPING_START_EVENT:
        return event_.data.mapping_start.anchor != nullptr || event_.data.mapping_start.tag != nullptr;
      default: return false;
    }
  }

  /// Return the text and style of a scalar. Precondition: the event is a scalar.
  std::string_view text() const {
    const auto& scalar = event_.data.scalar;
    return {reinterpret_cast<const char*>(scalar.value), scalar.length};
  }
  bool is_plain() const { return event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE; }
  bool is_block() const {
    return event_.data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
           event_.data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
  }

  /// libyaml's description of the error and its line; only after an error.
  std::string_view problem() const { return parser_.problem != nullptr ? parser_.problem : "is cut off"; }
  u64 problem_line() const { return parser_.problem_mark.line + 1; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

/// The contents of a model card, for general.* keys. Strings are UTF-8 and not empty.
struct ModelCard {
  std::optional<std::string> license, license_name, license_link;
  std::optional<std::string> author;        ///< `author`, `model_author` or `model_creator`
  std::optional<std::string> pipeline_tag;  ///< the model's purpose: "text-generation"
  /// Each may also be spelled with the prefix `model_`. `model_type` also gives the base name.
  std::optional<std::string> name, organization, basename, finetune, version, size_label, description;
  std::vector<std::string> base_models;  ///< "organisation/name", a name, or an address
  std::vector<std::string> tags, languages, datasets;
};

/// Parses the front matter of README.md's text: the YAML map between a first line `---` and the next `---`. Each member
/// is parsed separately with libyaml's events. Only scalars and lists of scalars of the keys above are read; other keys
/// are skipped, as are values with anchors, aliases, tags or maps. Never fails. Values that cannot be read are skipped
/// with a note in `findings`; unterminated front matter, invalid UTF-8 and a Git LFS pointer give a warning
/// ("hf-card-syntax").
ModelCard parse_model_card(std::string_view readme, FindingLog& findings);

/// Reads the card from a folder's README.md; empty if there is no such file. Reads only the first 1 MiB. Errors: those
/// of open_side_file() and of reading.
Result<ModelCard> read_model_card(const ModelFolder& folder, FindingLog& findings);

// Converts the general.* keys of a GGUF into a model card, and writes README.md for a directory made from it, with
// these keys as front matter for parse_model_card() and Hugging Face.

/// A model card's heading begins with this name if the model is a reranker whose scores are rows of the output head.
inline constexpr std::string_view reranker_name = "Qwen3-Reranker";

struct ModelCardOptions {
  std::string_view library;  ///< the library that will load the directory: "mlx" or "transformers"
  std::string_view source;   ///< the GGUF's file name, for the text
  std::string_view made_by;  ///< the program's name and version
  bool is_reranker = false;  ///< a reranker must remain recognisable: the heading begins with reranker_name
};

/// Returns the whole file. Values are double-quoted YAML scalars; invalid UTF-8 is skipped. Base models and datasets
/// are "organisation/name" if the keys or an address on huggingface.co give both. Errors: those of reading arrays.
Result<std::string> model_card_text(const gguf::SplitSet& set, const ModelCardOptions& options);

/// Returns `text`, which must be UTF-8, as a double-quoted YAML scalar on one line. Control characters, line ends and
/// invisible characters are escaped.
std::string yaml_string(std::string_view text);

/// Takes only non-empty UTF-8 strings. Base models and datasets are "organisation/name" if the keys or an address on
/// huggingface.co give both, otherwise a name or an address. The pipeline tag is taken from the tags. Errors: those of
/// reading arrays.
Result<ModelCard> card_from_keys(const gguf::SplitSet& set);

}  // namespace modelutils::hf
