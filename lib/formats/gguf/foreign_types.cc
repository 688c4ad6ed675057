#include "formats/gguf/foreign_types.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "base/types.h"

namespace modelutils::gguf {

namespace {

constexpr u32 mark = u32{1} << 31;
constexpr u32 id_bits = 16;
constexpr u32 id_mask = (u32{1} << id_bits) - 1;

constexpr u32 set_of(u32 type_id) {
  return (type_id & ~mark) >> id_bits;
}

// Returns the first of the type's forks; nullptr if the number is not the mark of a fork's type.
const ForkType* first_type(u32 type_id) {
  const std::span<const Fork> forks = all_forks();
  const u32 set = set_of(type_id);
  if ((type_id & mark) == 0 || set == 0 || set >> forks.size() != 0) return nullptr;
  return forks[static_cast<std::size_t>(std::countr_zero(set))].find(type_id & id_mask);
}

// Returns a tensor's size by a fork's rules, or by ggml's if `fork` is null; nullopt if they do not determine it.
std::optional<u64> bytes_in(const Fork* fork, const TensorInfo& tensor) {
  if (tensor.ne.size() > max_dims) return std::nullopt;
  if (const ForkType* type = fork == nullptr ? nullptr : fork->find(tensor.type_id)) {
    return fork_tensor_bytes(*type, tensor.ne);
  }
  const std::optional<TensorType> known = type_from_gguf(tensor.type_id);
  return known ? tensor_bytes(*known, tensor.ne) : std::nullopt;
}

// True if every tensor begins where the one before it ends, and the file ends with the last one or its padding.
bool sizes_fit(const Document& document, const Fork* fork) {
  u64 expected = 0;
  u64 end = 0;
  for (const TensorInfo& tensor : document.tensors) {
    const std::optional<u64> bytes = bytes_in(fork, tensor);
    const std::optional<u64> last = bytes ? checked_add(expected, *bytes) : std::nullopt;
    const std::optional<u64> padded = last ? checked_round_up(*last, document.alignment) : std::nullopt;
    if (!padded || tensor.offset != expected) return false;
    end = *last;
    expected = *padded;
  }
  if (!document.file_size) return true;
  if (*document.file_size < document.data_offset) return false;
  const u64 size = *document.file_size - document.data_offset;
  return size >= end && size <= expected;
}

bool is_known_to_a_fork(u32 id) {
  return std::ranges::any_of(all_forks(), [&](const Fork& fork) { return fork.find(id) != nullptr; });
}

}  // namespace

bool is_foreign(u32 type_id) {
  return first_type(type_id) != nullptr;
}

std::optional<ForeignType> foreign_type(u32 type_id) {
  if (!is_foreign(type_id)) return std::nullopt;
  ForeignType foreign;
  foreign.id = type_id & id_mask;
  for (std::size_t i = 0; i < all_forks().size(); ++i) {
    const Fork& fork = all_forks()[i];
    const ForkType* type = (set_of(type_id) >> i & 1) != 0 ? fork.find(foreign.id) : nullptr;
    // A fork that extends another has the same type.
    if (type == nullptr || std::ranges::find(foreign.types, type) != foreign.types.end()) continue;
    foreign.forks.push_back(&fork);
    foreign.types.push_back(type);
    foreign.text += (foreign.text.empty() ? "" : " or ") + fork_type_text(*type, fork);
  }
  return foreign;
}

std::optional<u64> foreign_tensor_bytes(u32 type_id, std::span<const u64> ne) {
  const ForkType* type = first_type(type_id);
  return type == nullptr || ne.size() > max_dims ? std::nullopt : fork_tensor_bytes(*type, ne);
}

std::string type_text(const TensorInfo& tensor) {
  if (const auto foreign = foreign_type(tensor.type_id)) return foreign->text;
  const std::optional<TensorType> type = tensor.type();
  return type ? std::string(type_name(*type)) : std::to_string(tensor.type_id);
}

void mark_foreign_types(Document& document) {
  bool is_any = false;
  bool is_any_unknown = false;
  for (TensorInfo& tensor : document.tensors) {
    if (is_foreign(tensor.type_id)) tensor.type_id = ~u32{0};  // a file's own number is no mark
    const bool is_unknown = !type_from_gguf(tensor.type_id);
    is_any_unknown = is_any_unknown || is_unknown;
    is_any = is_any || is_unknown || is_known_to_a_fork(tensor.type_id);
  }
  if (!is_any || (!is_any_unknown && sizes_fit(document, nullptr))) return;
  std::vector<u32> marked(document.tensors.size(), 0);
  for (std::size_t i = 0; i < all_forks().size(); ++i) {
    const Fork& fork = all_forks()[i];
    const auto is_of_fork = [&](const TensorInfo& tensor) { return fork.find(tensor.type_id) != nullptr; };
    if (!std::ranges::any_of(document.tensors, is_of_fork) || !sizes_fit(document, &fork)) continue;
    for (std::size_t t = 0; t < marked.size(); ++t) {
      if (is_of_fork(document.tensors[t])) marked[t] |= mark | u32{1} << (id_bits + i);
    }
  }
  for (std::size_t t = 0; t < marked.size(); ++t) document.tensors[t].type_id |= marked[t];
}

std::vector<ForeignTypeUse> foreign_types_of(const Document& document) {
  std::vector<ForeignTypeUse> uses;
  std::map<u32, std::size_t> places;
  for (const TensorInfo& tensor : document.tensors) {
    if (!is_foreign(tensor.type_id)) continue;
    const auto [place, is_new] = places.try_emplace(tensor.type_id, uses.size());
    if (is_new) uses.push_back({*foreign_type(tensor.type_id), 0, &tensor});
    ++uses[place->second].tensors;
  }
  return uses;
}

std::string candidates_text(u32 id) {
  std::string text;
  for (const Fork& fork : all_forks()) {
    const ForkType* type = fork.find(id);
    if (type == nullptr || type->elements == 0 || (fork.extended != nullptr && fork.extended->find(id) == type))
      continue;
    text += (text.empty() ? "" : " or ") + fork_type_text(*type, fork);
  }
  return text;
}

}  // namespace modelutils::gguf
