#include "pytorch/resolve.h"

#include <fmt/core.h>

#include <limits>
#include <unordered_map>

#include "base/checked_math.h"
#include "pytorch/tensor_names.h"

namespace modelutils::pytorch {

namespace {

constexpr u64 most_bytes = std::numeric_limits<i64>::max();

/// One past the last element that sizes and strides reach from `offset`; nothing on overflow. 0 for an empty tensor.
std::optional<u64> reach(const TensorUse& use, u64 elements) {
  if (elements == 0) return 0;
  std::optional<u64> last = use.offset;
  for (std::size_t i = 0; i < use.shape.size() && last; ++i) {
    const std::optional<u64> step = checked_mul(use.shape[i] - 1, use.strides[i]);
    last = step ? checked_add(*last, *step) : std::nullopt;
  }
  return last ? checked_add(*last, 1) : std::nullopt;
}

bool is_contiguous(const TensorUse& use) {
  u64 expected = 1;
  for (std::size_t i = use.shape.size(); i-- > 0;) {
    if (use.shape[i] == 1) continue;
    if (use.strides[i] != expected) return false;
    expected *= use.shape[i];
  }
  return true;
}

class Resolver {
 public:
  Resolver(const PickleMachine& machine, const LocateStorage& locate, Document& document)
      : machine_(machine), locate_(locate), document_(document) {}

  void add(const NamedTensor& named);
  void check_expansion();

 private:
  void error(std::string_view code, std::string message, const NamedTensor& named) {
    document_.findings.error(Scope::container, code, std::move(message), at_tensor(named.name));
  }
  /// Its place among the document's storages: those of one key and type are one.
  std::size_t storage_of(const StorageUse& use);

  const PickleMachine& machine_;
  const LocateStorage& locate_;
  Document& document_;
  std::unordered_map<std::string, std::size_t> storages_;
};

std::size_t Resolver::storage_of(const StorageUse& use) {
  const std::string id = fmt::format("{}/{}/{}", use.key, use.storage_class.element_bytes, use.elements);
  const auto [known, is_new] = storages_.emplace(id, document_.storages.size());
  if (is_new) {
    Storage storage{use.key, use.storage_class.element_bytes, use.elements, false, 0, 0, {}};
    storage.is_there = locate_(storage);
    document_.storages.push_back(std::move(storage));
  }
  return known->second;
}

void Resolver::add(const NamedTensor& named) {
  const TensorUse& use = machine_.tensors()[named.tensor];
  const StorageUse& storage_use = machine_.storages()[static_cast<std::size_t>(machine_.values()[use.storage].number)];
  if (!use.type) {
    return error("pt-tensor",
                 fmt::format("has elements of {} bytes of a type that safetensors does not have", use.element_bytes),
                 named);
  }
  // Like torch: the product over all sizes must fit, even if one of them is 0.
  const std::optional<u64> elements = checked_product(use.shape);
  const std::optional<u64> bytes = elements ? checked_mul(*elements, use.element_bytes) : std::nullopt;
  if (!bytes || *bytes > most_bytes) return error("pt-tensor", "its sizes multiply to more than 63 bits hold", named);
  const std::optional<u64> end = reach(use, *elements);
  // What a storage holds, in elements of the tensor.
  const std::optional<u64> storage_bytes = checked_mul(storage_use.elements, storage_use.storage_class.element_bytes);
  if (!storage_bytes || *storage_bytes > most_bytes)
    return error("pt-storage", "its storage has more bytes than 63 bits hold", named);
  const std::optional<u64> last = end ? checked_add(*end, storage_use.view_offset) : std::nullopt;
  if (!last || *last > *storage_bytes / use.element_bytes) {
    return error("pt-tensor",
                 fmt::format("reaches element {} of its storage, which has {}",
                             last ? fmt::format("{}", *last) : "2^64 or more", *storage_bytes / use.element_bytes),
                 named);
  }
  const std::size_t storage = storage_of(storage_use);
  if (*bytes > 0 && !document_.storages[storage].is_there) return;  // that is a finding of its own
  document_.tensors.push_back({.name = named.name,
                               .type = *use.type,
                               .shape = use.shape,
                               .strides = use.strides,
                               .elements = *elements,
                               .bytes = *bytes,
                               .storage = storage,
                               .offset = (use.offset + storage_use.view_offset) * use.element_bytes,
                               .is_contiguous = is_contiguous(use),
                               .pickle_offset = use.position});
}

/// Views may repeat elements, and many may show the same ones. A file that asks for far more values than it holds is
/// no model, and would cost whoever reads its values as much as its sizes say.
void Resolver::check_expansion() {
  constexpr u64 times = 16, free_bytes = u64{1} << 30;
  const u64 most =
      checked_add(checked_mul(document_.file_size, times).value_or(most_bytes), free_bytes).value_or(most_bytes);
  u64 total = 0;
  for (std::size_t i = 0; i < document_.tensors.size(); ++i) {
    const Tensor& tensor = document_.tensors[i];
    total = checked_add(total, tensor.bytes).value_or(most_bytes);
    if (total <= most) continue;
    document_.findings.error(
        Scope::container, "pt-expanded",
        fmt::format("its views ask for more than {} bytes, {} times what the file holds and 1 GiB", most, times),
        at_tensor(tensor.name));
    document_.tensors.resize(i);
    return;
  }
}

}  // namespace

void add_tensors(const PickleMachine& machine, const LocateStorage& locate, Document& document) {
  Resolver resolver(machine, locate, document);
  for (const NamedTensor& named : named_tensors(machine, document.findings)) resolver.add(named);
  resolver.check_expansion();
  document.wrapper = wrapper_key(machine);
}

}  // namespace modelutils::pytorch
