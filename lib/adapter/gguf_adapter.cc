#include "adapter/gguf_adapter.h"

namespace modelutils::adapter {

namespace {

u64 size_of(const gguf::TensorInfo& tensor, std::size_t dimension) {
  return dimension < tensor.ne.size() ? tensor.ne[dimension] : 1;
}

}  // namespace

u64 GgufPair::rank() const {
  return size_of(*b, 0);
}
u64 GgufPair::columns() const {
  return is_embedding() ? size_of(*b, 1) : size_of(*a, 0);
}
u64 GgufPair::rows() const {
  return is_embedding() ? size_of(*a, 1) : size_of(*b, 1);
}
u64 GgufPair::slices() const {
  return size_of(*b, 2);
}

double GgufAdapter::scale_of(const GgufPair& pair) const {
  const double stated = alpha.value_or(0);
  return stated == 0 || pair.rank() == 0 ? 1 : stated / static_cast<double>(pair.rank());
}

std::optional<GgufAdapter> gguf_adapter(const gguf::Document& document, const gguf::Index& index) {
  if (index.string_value("adapter.type") != "lora") return std::nullopt;
  GgufAdapter adapter;
  adapter.alpha = index.float_value("adapter.lora.alpha");
  for (const gguf::TensorInfo& tensor : document.tensors) {
    std::string_view target = tensor.name;
    if (!target.ends_with(a_ending)) continue;
    target.remove_suffix(a_ending.size());
    const gguf::TensorInfo* b = index.tensor(std::string(target) + std::string(b_ending));
    if (b != nullptr && index.tensor(tensor.name) == &tensor) adapter.pairs.push_back({target, &tensor, b});
  }
  return adapter;
}

bool is_b(std::string_view tensor) {
  if (tensor.ends_with(b_ending)) return true;
  for (const std::string_view part : {".lora_B", ".lora_embedding_B"}) {
    const std::size_t at = tensor.rfind(part);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = tensor.substr(at + part.size());
    return rest.empty() || (rest.front() == '.' && !rest.ends_with(".bias"));
  }
  return false;
}

}  // namespace modelutils::adapter
