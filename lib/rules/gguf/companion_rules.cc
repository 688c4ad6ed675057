// Checks files that accompany a model (importance matrices, LoRA adapters), whose tensors come in pairs.
#include <fmt/core.h>

#include "base/path.h"
#include "rules/gguf/rule_parts.h"

namespace modelutils::gguf_rules {

namespace {

struct Pair {
  std::string_view type_key, type;                ///< key and value that identify such a file
  std::string_view first, second;                 ///< name endings of the two tensors
  std::size_t first_dimension, second_dimension;  ///< dimensions that must be equal
  std::string_view code, what;
};
constexpr Pair pairs[] = {
    {"general.type", "imatrix", ".in_sum2", ".counts", 1, 1, "gguf-imatrix", "the number of matrices"},
    {"adapter.type", "lora", ".lora_a", ".lora_b", 1, 0, "gguf-lora", "the rank"},
};

// llama-quantize rejects an importance matrix without these keys.
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
      // For an embedding both halves have the rank first.
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
