#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/not_found.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/model_folder.h"
#include "json/reader.h"
#include "verify/identity/model_identity.h"
#include "verify/policy/policy.h"

namespace modelutils {

namespace {

constexpr std::array<std::string_view, 6> pickle_endings = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"};
constexpr std::array<std::string_view, 6> code_endings = {".py", ".so", ".sh", ".ipynb", ".dll", ".dylib"};
constexpr std::array<std::string_view, 4> files_with_auto_map = {"config.json", "tokenizer_config.json",
                                                                 "generation_config.json", "processor_config.json"};

bool ends_with_one_of(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [name](std::string_view ending) { return name.ends_with(ending); });
}

bool is_allowed(const std::vector<std::string>& patterns, std::string_view name) {
  return patterns.empty() ||
         std::ranges::any_of(patterns, [name](const std::string& pattern) { return glob_match(pattern, name); });
}

// Formats two sizes; exactly if their rounded texts would be equal.
std::pair<std::string, std::string> size_texts(u64 a, u64 b) {
  std::pair texts(byte_text(a), byte_text(b));
  if (texts.first == texts.second) texts = {counted(a, "byte"), counted(b, "byte")};
  return texts;
}

std::string joined_patterns(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& pattern : patterns) text += (text.empty() ? "" : ", ") + pattern;
  return text;
}

class PolicyCheck {
 public:
  PolicyCheck(const Policy& policy, const Model& model, FindingLog& log)
      : policy_(policy), model_(model), source_(model), log_(log) {}

  Status run(u64 bytes) {
    if (lies_in_the_model()) {
      tell("policy-place", "lies in the model's own folder, so it may come from the model's author; keep it elsewhere");
      return {};
    }
    MU_ASSIGN(const ModelIdentity identity, source_.identity());
    check_requirements(identity);
    check_lists(identity);
    if (policy_.max_bytes && bytes > *policy_.max_bytes) {
      const auto [has, may_have] = size_texts(bytes, *policy_.max_bytes);
      tell("policy-size", fmt::format("has {}, more than the {} that the policy allows", has, may_have));
    }
    return check_folder();
  }

 private:
  void tell(std::string_view code, std::string message, std::string where = {}) {
    log_.error(Scope::model, code, std::move(message), std::move(where));
  }

  bool lies_in_the_model() const {
    const std::string folder = source_.folder();
    if (folder.empty() || policy_.path == "-") return false;
    const auto of_policy = os::resolve(policy_.path), of_model = os::resolve(folder);
    return of_policy && of_model && parent_of(*of_policy) == *of_model;
  }

  void check_requirements(const ModelIdentity& identity) {
    const auto wanted = [&](bool is_wanted, bool is_there, std::string_view what) {
      if (is_wanted && !is_there)
        tell("policy-required", fmt::format("{} is not stated, and the policy requires it", what));
    };
    wanted(policy_.wants_license, identity.card.license.has_value(),
           "a licence (general.license, license in README.md)");
    wanted(policy_.wants_base_model, !identity.card.base_models.empty(),
           "a base model (general.base_model.*, base_model in README.md)");
    wanted(policy_.wants_chat_template, source_.has_chat_template(), "a chat template");
    for (const std::string& key : policy_.keys) {
      if (!source_.states(key)) tell("policy-required", "is missing or empty, and the policy requires it", at_key(key));
    }
  }

  void check_lists(const ModelIdentity& identity) {
    const std::string_view format = format_info(model_.format).name;
    const auto refuse = [&](std::string_view code, std::string_view what, std::string_view name,
                            const std::vector<std::string>& patterns) {
      tell(code, fmt::format("the {} '{}' is not among those that the policy allows: {}", what, name,
                             joined_patterns(patterns)));
    };
    if (!is_allowed(policy_.formats, format)) refuse("policy-format", "format", format, policy_.formats);
    if (!is_allowed(policy_.architectures, identity.architecture)) {
      refuse("policy-architecture", "architecture", identity.architecture, policy_.architectures);
    }
    for (const std::string& type : identity.types) {
      if (!is_allowed(policy_.types, type)) refuse("policy-type", "type", type, policy_.types);
    }
    const std::string license = identity.card.license.value_or("");
    if (!license.empty() && !is_allowed(policy_.licenses, license)) {
      refuse("policy-license", "licence", license, policy_.licenses);
    }
  }

  Status check_folder() {
    const bool is_checkpoint = model_.safetensors && model_.safetensors->set.has_checkpoints;
    if (policy_.forbids_pickles && is_checkpoint) {
      tell("policy-pickle", "the weights are pickles, which run code when loaded; pt2st converts them to safetensors");
    }
    const std::string folder = source_.folder();
    if (folder.empty()) return {};
    if (policy_.forbids_pickles || policy_.forbids_code_files) {
      MU_ASSIGN(const DirectoryNames names, DirectoryNames::read(folder, [](std::string_view, EntryKind kind) {
                  return kind == EntryKind::file || kind == EntryKind::link;
                }));
      for (std::size_t i = 0; i < names.size(); ++i) check_name(names.name(i), is_checkpoint);
    }
    if (!policy_.forbids_custom_code || !model_.safetensors) return {};
    for (const std::string_view name : files_with_auto_map) {
      const auto document =
          json::load_if_present(model_.safetensors->folder, name, u64{64} << 20, json::Numbers::python);
      if (document && *document && json::member((*document)->root, "auto_map")) {
        tell("policy-custom-code", "auto_map names the model's own code, which runs when loaded with trust_remote_code",
             at_file(name));
      }
    }
    return {};
  }

  void check_name(std::string_view name, bool is_checkpoint) {
    if (policy_.forbids_pickles && !is_checkpoint && ends_with_one_of(name, pickle_endings)) {
      tell("policy-pickle", "may be a pickle, which runs code when loaded", at_file(name));
    }
    if (policy_.forbids_code_files && ends_with_one_of(name, code_endings)) {
      tell("policy-code-file", "is a program next to the weights", at_file(name));
    }
  }

  const Policy& policy_;
  const Model& model_;
  IdentitySource source_;
  FindingLog& log_;
};

}  // namespace

Status check_policy(const Policy& policy, const Model& model, u64 bytes, FindingLog& log) {
  return PolicyCheck(policy, model, log).run(bytes);
}

Severity severity_under(const Policy& policy, Severity severity, std::string_view code) {
  if (severity == Severity::error) return severity;
  const auto found = policy.severities.find(code);
  return found == policy.severities.end() ? severity : found->second;
}

}  // namespace modelutils
