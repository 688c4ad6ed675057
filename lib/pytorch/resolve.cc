#include "pytorch/resolve.h"

#include <fmt/core.h>

#include <limits>
#include <unordered_map>

#include "base/checked_math.h"

namespace modelutils::pytorch {

namespace {

constexpr u64 most_bytes = std::numeric_limits<i64>::max();

/// Returns the index after the last element accessed, 0 for an empty tensor; nullopt on overflow.
std::optional<u64> reach(u64 offset, const std::vector<u64>& shape, const std::vector<u64>& strides, u64 elements) {
  if (elements == 0) return 0;
  std::optional<u64> last = offset;
  for (std::size_t i = 0; i < shape.size() && last; ++i) {
    const std::optional<u64> step = checked_mul(shape[i] - 1, strides[i]);
    last = step ? checked_add(*last, *step) : std::nullopt;
  }
  return last ? checked_add(*last, 1) : std::nullopt;
}

bool is_contiguous(const std::vector<u64>& shape, const std::vector<u64>& strides) {
  u64 expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

/// Location and size of a tensor's elements.
struct Elements {
  std::vector<u64> shape, strides;
  u64 count = 0;
  u64 bytes = 0;
  u64 offset = 0;  // in bytes, relative to the storage
};

class Resolver {
 public:
  Resolver(const PickleMachine& machine, const LocateStorage& locate, Document& document)
      : machine_(machine), locate_(locate), document_(document) {}

  void add(NamedTensor named);
  /// Applies torch's checks to tensors and storages without a name.
  void check_others(const std::vector<NamedTensor>& named);
  void check_expansion();

 private:
  void error(std::string_view code, std::string message, const std::string& where) {
    document_.findings.error(Scope::container, code, std::move(message), where);
  }
  const StorageUse& storage_use(const TensorUse& use) const {
    return machine_.storages()[static_cast<std::size_t>(machine_.values()[use.storage].number)];
  }
  /// Returns nullopt, after a finding, if an element is outside the storage.
  std::optional<Elements> elements_of(const TensorUse& use, const std::string& where);
  /// Returns the storage's index in the document, adding it first if necessary. Views share the entry of their root.
  std::size_t storage_of(const StorageUse& use);

  const PickleMachine& machine_;
  const LocateStorage& locate_;
  Document& document_;
  std::unordered_map<std::string, std::size_t> storages_;
};

std::size_t Resolver::storage_of(const StorageUse& use) {
  const auto [known, is_new] = storages_.emplace(use.key, document_.storages.size());
  if (is_new) {
    Storage storage{use.key, use.storage_class.element_bytes, use.elements, false, 0, 0, {}};
    storage.is_there = locate_(storage);
    document_.storages.push_back(std::move(storage));
  }
  return known->second;
}

std::optional<Elements> Resolver::elements_of(const TensorUse& use, const std::string& where) {
  const auto wrong = [&](std::string_view code, std::string message) {
    error(code, std::move(message), where);
    return std::nullopt;
  };
  const StorageUse& storage = storage_use(use);
  Elements found{machine_.numbers(use.shape), machine_.numbers(use.strides)};
  // Like torch: the product of all sizes must fit, even if one of them is 0.
  const std::optional<u64> count = checked_product(found.shape);
  const std::optional<u64> bytes = count ? checked_mul(*count, use.element_bytes) : std::nullopt;
  if (!bytes || *bytes > most_bytes) return wrong("pt-tensor", "the product of its sizes exceeds 63 bits");
  const u32 stored_width = storage.storage_class.element_bytes;
  const std::optional<u64> root_bytes = checked_mul(storage.elements, stored_width);
  if (!root_bytes || *root_bytes > most_bytes) {
    return wrong("pt-storage", "the size of its storage exceeds 63 bits");
  }
  // Elements in the storage, or in the view of it, by the tensor's element size.
  const u64 held = storage.view_elements * stored_width / use.element_bytes;
  const std::optional<u64> end = reach(use.offset, found.shape, found.strides, *count);
  if (!end || *end > held) {
    return wrong("pt-tensor", fmt::format("reaches element {} of its storage, which has {}",
                                          end ? fmt::format("{}", *end) : "2^64 or more", held));
  }
  found.count = *count;
  found.bytes = *bytes;
  // An empty tensor may have any offset.
  if (*bytes > 0) found.offset = use.offset * use.element_bytes + storage.view_offset * stored_width;
  return found;
}

void Resolver::add(NamedTensor named) {
  const TensorUse& use = machine_.tensors()[named.tensor];
  const std::string where = at_tensor(named.name);
  if (!use.type) {
    return error("pt-tensor",
                 fmt::format("has elements of {} bytes of a type that safetensors does not have", use.element_bytes),
                 where);
  }
  std::optional<Elements> elements = elements_of(use, where);
  if (!elements) return;
  const std::size_t storage = storage_of(storage_use(use));
  if (elements->bytes > 0 && !document_.storages[storage].is_there) return;  // reported by locate_ already
  const bool contiguous = is_contiguous(elements->shape, elements->strides);
  document_.tensors.push_back({.name = std::move(named.name),
                               .type = *use.type,
                               .shape = std::move(elements->shape),
                               .strides = std::move(elements->strides),
                               .elements = elements->count,
                               .bytes = elements->bytes,
                               .storage = storage,
                               .offset = elements->offset,
                               .is_contiguous = contiguous,
                               .pickle_offset = use.position});
}

void Resolver::check_others(const std::vector<NamedTensor>& named) {
  std::vector<bool> is_named(machine_.tensors().size());
  for (const NamedTensor& each : named) is_named[each.tensor] = true;
  for (std::size_t i = 0; i < is_named.size(); ++i) {
    if (!is_named[i]) elements_of(machine_.tensors()[i], "a tensor without a name");
  }
  for (const StorageUse& use : machine_.storages()) {
    const std::optional<u64> bytes = checked_mul(use.elements, use.storage_class.element_bytes);
    if (bytes && *bytes <= most_bytes) {
      storage_of(use);
    } else {
      error("pt-storage", fmt::format("the size of the storage '{}' exceeds 63 bits", use.key), {});
    }
  }
}

/// Views may repeat or share elements. A file whose tensors have far more values than it stores is not a model, and
/// reading all of them would cost as much as the tensors' total size.
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
        fmt::format("the views up to this tensor take more than {} bytes, which is {} times the file's size plus 1 GiB",
                    most, times),
        at_tensor(tensor.name));
    document_.tensors.resize(i);
    return;
  }
}

}  // namespace

void add_tensors(const PickleMachine& machine, const LocateStorage& locate, Document& document) {
  Resolver resolver(machine, locate, document);
  std::vector<NamedTensor> named = named_tensors(machine, document.file_size, document.findings);
  for (NamedTensor& each : named) resolver.add(std::move(each));
  resolver.check_others(named);  // needs only their indices; add() has moved the rest
  resolver.check_expansion();
  document.wrapper = wrapper_key(machine);
}

}  // namespace modelutils::pytorch
