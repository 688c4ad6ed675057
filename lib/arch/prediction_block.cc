#include "arch/prediction_block.h"

#include <algorithm>
#include <charconv>

#include "gguf/keys.h"

namespace modelutils::arch {

std::optional<u64> block_of(std::string_view tensor) {
  constexpr std::string_view prefix = "blk.";
  constexpr u64 absurd = 1'000'000;
  if (!tensor.starts_with(prefix)) return std::nullopt;
  tensor.remove_prefix(prefix.size());
  const std::size_t digits = tensor.find('.');
  if (digits == std::string_view::npos || digits == 0) return std::nullopt;
  u64 number = 0;
  const auto [end, error] = std::from_chars(tensor.data(), tensor.data() + digits, number);
  if (error != std::errc() || end != tensor.data() + digits || number > absurd) return std::nullopt;
  return number;
}

bool is_prediction_alone(const gguf::SplitSet& set) {
  const gguf::Index keys(set.files.front().document);
  const u64 predicting = keys.unsigned_value(keys.arch_key("nextn_predict_layers")).value_or(0);
  const u64 blocks = keys.unsigned_value(keys.arch_key("block_count")).value_or(0);
  if (predicting == 0 || predicting >= blocks) return false;
  bool has_block = false;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const std::optional<u64> block = block_of(tensor.name);
      if (!block) continue;
      if (*block < blocks - predicting) return false;
      has_block = true;
    }
  }
  return has_block;
}

}  // namespace modelutils::arch
