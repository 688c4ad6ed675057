// verify --policy: what a place asks of the models it takes, beyond being sound. docs/policies.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "model/model.h"

namespace modelutils {

/// Lists of patterns (base/glob.h): empty allows everything.
struct Policy {
  std::string path;                                         ///< as the user gave it
  std::string name;                                         ///< what verdicts call it
  std::map<std::string, Severity, std::less<>> severities;  ///< of codes
  std::vector<std::string> keys;                            ///< that must be there and say something
  bool wants_license = false;
  bool wants_base_model = false;
  bool wants_chat_template = false;
  std::vector<std::string> architectures, types, formats, licenses;
  std::optional<u64> max_bytes;  ///< of a model's files together
  bool forbids_pickles = false;
  bool forbids_custom_code = false;  ///< config.json that names code to run (auto_map)
  bool forbids_code_files = false;   ///< programs beside the weights
};

/// Reads a YAML file of at most 1 MiB. Errors: those of opening, "policy-syntax" with the line, "policy-member"
/// for a table, member or value that a policy does not have.
Result<Policy> load_policy(const std::string& path);
/// The same from text (tests, fuzzers).
Result<Policy> parse_policy(std::string_view text, std::string path);

/// What the policy has against a model; `bytes`: of its files. Findings are errors: "policy-required",
/// "policy-architecture", "policy-type", "policy-format", "policy-license", "policy-size", "policy-pickle",
/// "policy-custom-code", "policy-code-file", "policy-place" (the policy lies in the model's own folder). Errors: those
/// of reading.
Status check_policy(const Policy& policy, const Model& model, u64 bytes, FindingLog& log);

/// The severity that a finding has under the policy: an error stays one.
Severity severity_under(const Policy& policy, Severity severity, std::string_view code);

}  // namespace modelutils
