// Members of config.json and generation_config.json (the publisher's sampling parameters, ids of special tokens), in
// output order; and the collector of warnings, one finding per kind of remark.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/types.h"
#include "io/model_folder.h"
#include "json/reader.h"

namespace modelutils::hf {

struct ConfigMember;
/// A JSON object with distinct names.
using ConfigMembers = std::vector<ConfigMember>;

/// A JSON value: null, a boolean, a whole number, a decimal (the shortest that parses to the same float32; infinities
/// as Python writes them), a string, a list or an object.
struct ConfigValue {
  std::variant<std::nullptr_t, bool, u64, i64, float, std::string, std::vector<ConfigValue>, ConfigMembers> value;

  // The constructors are implicit on purpose. They are defined below, after ConfigMember is complete.
  ConfigValue();
  ConfigValue(std::nullptr_t);                     // NOLINT
  ConfigValue(bool flag);                          // NOLINT
  ConfigValue(std::unsigned_integral auto count);  // NOLINT
  ConfigValue(std::signed_integral auto count);    // NOLINT
  ConfigValue(std::floating_point auto real);      // NOLINT
  ConfigValue(std::string text);                   // NOLINT
  ConfigValue(std::string_view text);              // NOLINT
  ConfigValue(const char* text);                   // NOLINT
  ConfigValue(std::vector<ConfigValue> list);      // NOLINT
  ConfigValue(ConfigMembers members);              // NOLINT
};

struct ConfigMember {
  std::string name;
  ConfigValue value;
};

inline ConfigValue::ConfigValue() : value(nullptr) {}
inline ConfigValue::ConfigValue(std::nullptr_t) : value(nullptr) {}
inline ConfigValue::ConfigValue(bool flag) : value(flag) {}
inline ConfigValue::ConfigValue(std::unsigned_integral auto count) : value(u64{count}) {}
inline ConfigValue::ConfigValue(std::signed_integral auto count) : value(i64{count}) {}
inline ConfigValue::ConfigValue(std::floating_point auto real) : value(static_cast<float>(real)) {}
inline ConfigValue::ConfigValue(std::string text) : value(std::move(text)) {}
inline ConfigValue::ConfigValue(std::string_view text) : value(std::string(text)) {}
inline ConfigValue::ConfigValue(const char* text) : value(std::string(text)) {}
inline ConfigValue::ConfigValue(std::vector<ConfigValue> list) : value(std::move(list)) {}
inline ConfigValue::ConfigValue(ConfigMembers members) : value(std::move(members)) {}

/// Returns a list of numbers, strings or booleans.
template <typename T>
ConfigValue config_list(const std::vector<T>& values) {
  std::vector<ConfigValue> list;
  for (const T& value : values) list.emplace_back(value);
  return list;
}

/// Returns the member with this name, or nullptr. "a.b" is member b of the object a.
const ConfigValue* find_member(const ConfigMembers& members, std::string_view name);

/// Sets a member: replaces an existing one in place, or appends it. Creates the objects that "a.b" needs.
void set_member(ConfigMembers& members, std::string_view name, ConfigValue value);

/// Parses a value in JSON notation: "true", "12", "1.5", "[]", "null". Any other text becomes a string.
ConfigValue config_value_of(std::string_view json);

/// Returns the file's text: indented by two spaces, lists of numbers and strings on one line, a line feed at the end.
std::string config_text(const ConfigMembers& members);

// Collects warnings: one finding per kind of remark, however often it occurs.

/// Keeps the first remark of a kind and counts the others.
class Repeated {
 public:
  /// Counts a remark. Returns true the first time; only then does the caller need to build the text and call set().
  bool met() { return ++count_ == 1; }
  void set(std::string message) { message_ = std::move(message); }
  u64 count() const { return count_; }
  /// Adds a warning with the first remark and the number of the others; adds nothing if there were none.
  void emit(FindingLog& findings, std::string_view code) const {
    if (count_ == 0) return;
    findings.warning(Scope::model, code,
                     count_ == 1 ? message_ : fmt::format("{} (and {} more like it)", message_, count_ - 1));
  }

 private:
  u64 count_ = 0;
  std::string message_;
};

// generation_config.json: the publisher's recommended sampling parameters, and ids of special tokens.

/// The parsed file. A model works without it, so a broken file counts as absent.
struct GenerationConfig {
  std::shared_ptr<json::Document> document;  ///< an object; empty if the file is absent or broken
  FindingLog findings;                       ///< warnings about a broken file

  std::optional<json::Element> root() const { return document ? std::optional(document->root) : std::nullopt; }
};

/// Reads a folder's generation_config.json. A file that is not a JSON object gives a warning ("hf-generation-config");
/// one that cannot be read or lies outside the folder is an error.
Result<GenerationConfig> load_generation_config(const ModelFolder& folder);

/// Recommended sampling parameters, in the types that llama.cpp's converter writes (gguf-py, general.sampling.*).
struct Sampling {
  std::optional<float> temperature, top_p, min_p, repetition_penalty;
  std::optional<i32> top_k;
};

/// Reads `temperature`, `top_k`, `top_p`, `min_p` and `repetition_penalty`; null counts as absent. A value that is not
/// a number or does not fit the type is skipped with a warning ("hf-generation-config").
Sampling read_sampling(const GenerationConfig& config, FindingLog& findings);

}  // namespace modelutils::hf
