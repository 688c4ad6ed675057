#include "verify/loader_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "gguf/keys.h"
#include "model/architecture.h"
#include "model/gguf_hyper_parameters.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

class LoaderRules {
 public:
  LoaderRules(const gguf::SplitSet& set, bool with_vocabulary)
      : set_(set), keys_(set.files.front().document), with_vocabulary_(with_vocabulary) {}

  Findings check() {
    const Architecture* architecture = find_architecture(keys_.architecture());
    if (architecture == nullptr) {
      add("loader-architecture", "key 'general.architecture'",
          fmt::format("is '{}', which is no architecture known here", keys_.architecture()));
      return std::move(findings_);
    }
    check_keys();
    Result<HyperParameters> parameters = hyper_parameters_of(*architecture, keys_);
    if (!parameters) {
      findings_.push_back(to_finding(parameters.error(), Scope::model));
      return std::move(findings_);
    }
    check_tensors(*architecture, *parameters);
    return std::move(findings_);
  }

 private:
  void add(std::string code, std::string where, std::string message) {
    findings_.push_back(
        {Severity::error, Scope::model, std::move(code), std::nullopt, std::move(where), std::move(message), {}});
  }

  void check_keys() {
    for (std::string_view suffix : {"context_length", "feed_forward_length"}) {
      const std::string key = keys_.arch_key(suffix);
      if (!keys_.unsigned_value(key)) add("loader-key", "key '" + key + "'", "is missing; the loader needs it");
    }
    const std::string epsilon = keys_.arch_key("attention.layer_norm_rms_epsilon");
    if (!keys_.float_value(epsilon)) add("loader-key", "key '" + epsilon + "'", "is missing; the loader needs it");
    if (!with_vocabulary_) return;
    const auto model = keys_.string_value("tokenizer.ggml.model");
    if (!model) add("loader-key", "key 'tokenizer.ggml.model'", "is missing; the loader needs it");
    if (keys_.array_value("tokenizer.ggml.tokens") == nullptr) {
      add("loader-key", "key 'tokenizer.ggml.tokens'", "is missing; the loader needs it");
    }
    if (model == "gpt2" && keys_.array_value("tokenizer.ggml.merges") == nullptr) {
      add("loader-key", "key 'tokenizer.ggml.merges'", "is missing; the loader needs it for a byte-level vocabulary");
    }
  }

  void check_tensors(const Architecture& architecture, const HyperParameters& parameters) {
    std::unordered_map<std::string_view, const gguf::TensorInfo*> left;
    for (const gguf::SetFile& file : set_.files) {
      for (const gguf::TensorInfo& tensor : file.document.tensors) left.emplace(tensor.name, &tensor);
    }
    for (const ExpectedTensor& expected : expected_tensors(architecture, parameters)) {
      const auto found = left.find(expected.name);
      if (found == left.end()) {
        if (expected.presence == Presence::required) {
          add("loader-tensor-missing", "tensor '" + expected.name + "'", "is missing; the loader needs it");
        }
        continue;
      }
      check_tensor(expected, *found->second);
      left.erase(found);
    }
    for (const auto& [name, tensor] : left) {
      add("loader-tensor-extra", "tensor '" + std::string(name) + "'",
          "is none that the loader of this architecture takes, which makes it refuse the whole file");
    }
  }

  void check_tensor(const ExpectedTensor& expected, const gguf::TensorInfo& tensor) {
    const std::string where = "tensor '" + tensor.name + "'";
    if (!same_shape(expected.ne, tensor.ne)) {
      const bool vocabulary = expected.name == "token_embd.weight" || expected.name == "output.weight";
      add(vocabulary && tensor.ne.size() == 2 && tensor.ne[0] == expected.ne[0] ? "loader-vocabulary"
                                                                                : "loader-tensor-shape",
          where,
          fmt::format("has shape {}, the hyper-parameters and the vocabulary ask for {}", shape_text(tensor.ne),
                      shape_text(expected.ne)));
    }
    const std::optional<TensorType> type = tensor.type();
    if (!type) return;  // a rule of the container says so
    constexpr std::array unusable = {TensorType::Q8_1, TensorType::Q8_K, TensorType::I8, TensorType::I16,
                                     TensorType::I32,  TensorType::I64,  TensorType::F64};
    if (expected.must_be_f32 && *type != TensorType::F32) {
      add("loader-tensor-type", where, fmt::format("is {}, the runtime needs F32 there", type_name(*type)));
    } else if (std::find(unusable.begin(), unusable.end(), *type) != unusable.end()) {
      add("loader-tensor-type", where, fmt::format("is {}, which no weight may be", type_name(*type)));
    }
  }

  // Missing trailing dimensions count as 1, as in the loader.
  static bool same_shape(const std::vector<u64>& a, const std::vector<u64>& b) {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if ((i < a.size() ? a[i] : 1) != (i < b.size() ? b[i] : 1)) return false;
    }
    return true;
  }

  const gguf::SplitSet& set_;
  gguf::Index keys_;
  bool with_vocabulary_;
  Findings findings_;
};

}  // namespace

Findings loader_findings(const gguf::SplitSet& set, bool with_vocabulary) {
  if (set.files.empty()) return {};
  return LoaderRules(set, with_vocabulary).check();
}

}  // namespace modelutils
