// verify --policy: a site's requirements for the models it accepts. docs/policies.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "model/model.h"

namespace modelutils {

/// The pattern lists use base/not_found.h; an empty list allows everything.
struct Policy {
  std::string path;                                         ///< as the user gave it
  std::string name;                                         ///< the name in verdicts
  std::map<std::string, Severity, std::less<>> severities;  ///< by finding code
  std::vector<std::string> keys;                            ///< keys that must exist and have a value
  bool wants_license = false;
  bool wants_base_model = false;
  bool wants_chat_template = false;
  std::vector<std::string> architectures, types, formats, licenses;
  std::optional<u64> max_bytes;  ///< total size of a model's files
  bool forbids_pickles = false;
  bool forbids_custom_code = false;  ///< forbids a config.json that names code to run (auto_map)
  bool forbids_code_files = false;   ///< forbids program files beside the weights
};

/// Reads a YAML file of at most 1 MiB. Errors: those of opening, "policy-syntax" with the line, "policy-member"
/// for a table, member or value that a policy does not have.
Result<Policy> load_policy(const std::string& path);
/// Like load_policy(), from text, for tests and fuzzers.
Result<Policy> parse_policy(std::string_view text, std::string path);

/// Logs each violation of the policy as an error. `bytes`: total size of the model's files. Codes: "policy-required",
/// "policy-architecture", "policy-type", "policy-format", "policy-license", "policy-size", "policy-pickle",
/// "policy-custom-code", "policy-code-file", "policy-place" (the policy lies in the model's own folder). Errors: those
/// of reading.
Status check_policy(const Policy& policy, const Model& model, u64 bytes, FindingLog& log);

/// Returns a finding's severity under the policy. Errors stay errors.
Severity severity_under(const Policy& policy, Severity severity, std::string_view code);

// Parses the YAML subset of policies into memory: maps, lists and texts, at most two containers below the top.
// Internal.

struct YamlValue {
  enum class Kind : u8 { text, list, map };

  std::string name;  ///< of a member of a map
  Kind kind = Kind::text;
  u64 line = 1;
  std::string text;
  bool is_quoted = false;
  std::vector<YamlValue> items;    ///< for a list
  std::vector<YamlValue> members;  ///< for a map; names are distinct

  /// Returns nullptr if there is no such member.
  const YamlValue* find(std::string_view wanted) const;
};

/// Parses one document whose top level is a map; an empty text is an empty map. Error "policy-syntax" with the line:
/// invalid YAML, invalid UTF-8, a second document, an alias, an anchor, a tag, a block scalar, a name that is not text
/// or appears twice, deeper nesting, more than `max_policy_values` values.
Result<YamlValue> parse_policy_yaml(std::string_view text);

inline constexpr std::size_t max_policy_values = 10'000;

}  // namespace modelutils
