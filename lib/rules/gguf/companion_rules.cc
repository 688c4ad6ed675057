// Files that go with a model: importance matrices and LoRA adapters have their tensors in pairs.
#include <fmt/core.h>

#include "base/path.h"
#include "rules/gguf/rule_parts.h"

namespace modelutils::gguf_rules {

namespace {

struct Pair {
  std::string_view type_key, type;                ///< that makes a file one of them
  std::string_view first, second;                 ///< what the names of the two tensors end in
  std::size_t first_dimension, second_dimension;  ///< whose sizes are equal
  std::string_view code, what;
};
constexpr Pair pairs[] = {
    {"general.type", "imatrix", ".in_sum2", ".counts", 1, 1, "gguf-imatrix", "the number of matrices"},
    {"adapter.type", "lora", ".lora_a", ".lora_b", 1, 0, "gguf-lora", "the rank"},
};

// llama-quantize loads no importance matrix without them.
void check_imatrix_keys(const gguf::Index& index, FindingLog& log) {
  if (index.string_value("general.type") != "imatrix") return;
  const gguf::ArrayRef* datasets = index.array_value("imatrix.datasets");
  const std::pair<std::string_view, bool> keys[] = {
      {"imatrix.datasets", datasets != nullptr && datasets->element_type == gguf::ValueType::string},
      {"imatrix.chunk_count", index.unsigned_value("imatrix.chunk_count").has_value()},
      {"imatrix.chunk_size", index.unsigned_value("imatrix.chunk_size").has_value()},
  };
  for (const auto& [key, is_there] : keys) {
    if (is_there) continue;
    log.error(Scope::model, "imatrix-keys", "the key is missing or of another type: this is not an importance matrix",
              at_key(key));
  }
}

u64 size_of(const gguf::TensorInfo& tensor, std::size_t dimension) {
  return dimension < tensor.ne.size() ? tensor.ne[dimension] : 1;
}

}  // namespace

void check_companion(const gguf::Document& document, const gguf::Index& index, FindingLog& log) {
  check_imatrix_keys(index, log);
  for (const Pair& pair : pairs) {
    if (index.string_value(pair.type_key) != pair.type) continue;
    for (const gguf::TensorInfo& tensor : document.tensors) {
      const std::string_view name = tensor.name;
      const bool is_first = name.ends_with(pair.first);
      if (!is_first && !name.ends_with(pair.second)) continue;
      const std::string_view own = is_first ? pair.first : pair.second;
      const std::string_view other = is_first ? pair.second : pair.first;
      const std::string wanted = std::string(name.substr(0, name.size() - own.size())) + std::string(other);
      const gguf::TensorInfo* found = index.tensor(wanted);
      if (found == nullptr) {
        log.error(Scope::model, pair.code, fmt::format("has no counterpart '{}'", wanted), at_tensor(name),
                  tensor.info_offset);
        continue;
      }
      // Of a table that is looked up both halves have the rank first.
      const std::size_t dimension = name == "token_embd.weight.lora_a" ? 0 : pair.first_dimension;
      if (is_first && size_of(tensor, dimension) != size_of(*found, pair.second_dimension)) {
        log.error(Scope::model, pair.code,
                  fmt::format("{} is {}, but {} in '{}'", pair.what, size_of(tensor, dimension),
                              size_of(*found, pair.second_dimension), wanted),
                  at_tensor(name), tensor.info_offset);
      }
    }
  }
}

}  // namespace modelutils::gguf_rules
