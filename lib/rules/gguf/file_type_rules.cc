// Checks general.file_type against the types of the weights.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "gguf/file_type.h"
#include "rules/gguf/rule_parts.h"
#include "tensor/types.h"

namespace modelutils::gguf_rules {

namespace {

constexpr u64 guessed = 1024;     // set by llama.cpp if it only guessed the type
constexpr u64 super_block = 256;  // the mixes store rows that are not whole super-blocks in another type

// Returns the type of most weights in a mix: "Q4_K" for "Q4_K_M".
std::string_view main_type(std::string_view mix) {
  if (mix == "IQ2_M") return "IQ2_S";
  if (mix == "IQ3_M" || mix == "IQ3_XS") return "IQ3_S";
  if (mix.size() > 2 && mix.substr(0, mix.size() - 2).ends_with("_K")) mix.remove_suffix(2);
  return mix;
}

bool takes_other_types(u64 row, std::string_view type) {
  return type.find("_K") != type.npos || type.starts_with("IQ") || type.starts_with("TQ") ? row % super_block != 0
                                                                                          : false;
}

}  // namespace

void check_file_type(const gguf::SplitSet& set, const gguf::Index& index, FindingLog& log) {
  constexpr double most = 0.5;
  constexpr double hardly_any = 0.05;
  const auto code = index.unsigned_value("general.file_type");
  if (!code || (*code & guessed) != 0 || index.string_value("general.type").value_or("model") != "model") return;
  const std::string_view mix = gguf::file_type_name(*code);
  if (mix.empty()) return;
  const std::string_view wanted = main_type(mix);
  std::map<std::string_view, double> elements;
  double all = 0;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const std::optional<TensorType> type = tensor.type();
      // In many mixes the embedding and the output have other types.
      const bool is_matrix = tensor.ne.size() >= 2 && tensor.name.starts_with("blk.");
      if (!type || !is_matrix || takes_other_types(tensor.ne[0], wanted)) continue;
      double count = 1;
      for (const u64 size : tensor.ne) count *= static_cast<double>(size);
      elements[type_name(*type)] += count;
      all += count;
    }
  }
  if (all == 0) return;
  const auto largest = std::ranges::max_element(elements, {}, [](const auto& each) { return each.second; });
  if (largest->first == "MXFP4" || largest->second < most * all || elements[wanted] > hardly_any * all) return;
  log.note(Scope::model, "gguf-file-type",
           fmt::format("says {}, but {:.0f} % of the layers' weights are {}", mix, 100 * largest->second / all,
                       largest->first),
           at_key("general.file_type"), index.key("general.file_type")->offset);
}

}  // namespace modelutils::gguf_rules
