#include "arch/packed_family.h"

#include "arch/projector_family.h"

#include <memory>
#include <mutex>

namespace modelutils::arch {

namespace {

// The tables of a family.
struct FamilyTables {
  std::vector<Key> keys;
  std::vector<Tensor> tensors;
  std::vector<Mark> marks;
};

// A family with its tables.
template <typename T>
struct UnpackedFamily : FamilyTables {
  T family;
};

// Reads what FamilyPacker wrote.
class FamilyReader {
 public:
  FamilyReader(const char* bytes, const FamilyFunction* functions, FamilyTables* tables = nullptr)
      : bytes_(bytes), functions_(functions), tables_(tables) {}

  template <typename... Members>
  void operator()(Members&... members) {
    (read(members), ...);
  }

 private:
  u64 number() {
    u64 value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(*bytes_++);
      value |= static_cast<u64>(byte % 128) << shift;
      if (byte < 128) return value;
    }
  }
  template <Number T>
  void read(T& out) {
    if constexpr (std::is_floating_point_v<T>) {
      out = std::bit_cast<T>(number());
    } else {
      out = static_cast<T>(number());
    }
  }
  void read(Text auto& out) {
    std::string_view& text = out;
    const auto size = static_cast<std::size_t>(number());
    text = {bytes_, size};
    bytes_ += size;
  }
  template <Function T>
  void read(T& out) {
    out = number() != 0 ? static_cast<T>(*functions_++) : nullptr;
  }
  template <typename Row>
  void read(std::span<const Row>& out) {
    std::vector<Row>& rows = table_of(out);
    const std::size_t first = rows.size();
    for (u64 count = number(); count > 0; --count) read(rows.emplace_back());
    out = std::span(rows).subspan(first);
  }
  template <typename Row, std::size_t N>
  void read(Few<Row, N>& out) {
    out = {};
    for (u64 count = number(); count > 0; --count) {
      Row row = {};
      read(row);
      out.add(row);
    }
  }
  template <typename Struct>
  void read(Struct& out) {
    visit_members(out, *this);
  }

  std::vector<Key>& table_of(std::span<const Key>) { return tables_->keys; }
  std::vector<Tensor>& table_of(std::span<const Tensor>) { return tables_->tensors; }
  std::vector<Mark>& table_of(std::span<const Mark>) { return tables_->marks; }

  const char* bytes_;
  const FamilyFunction* functions_;
  FamilyTables* tables_;
};

}  // namespace

template <typename T>
FamilyNames Packed<T>::names() const {
  Names names;
  FamilyReader reader(bytes_, functions_);
  reader(names.name, names.gguf, names.classes, names.model_types);
  return names;
}

template <typename T>
const T& Packed<T>::unpacked() const {
  if (const T* family = unpacked_.load(std::memory_order_acquire)) return *family;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const T* family = unpacked_.load(std::memory_order_relaxed)) return *family;
  auto made = std::make_unique<UnpackedFamily<T>>();
  made->keys.reserve(counts_.keys);  // must not move, because the family points into the tables
  made->tensors.reserve(counts_.tensors);
  made->marks.reserve(counts_.marks);
  FamilyReader reader(bytes_, functions_, made.get());
  visit_members(made->family, reader);
  unpacked_.store(&made->family, std::memory_order_release);
  return made.release()->family;  // kept until the program ends
}

template class Packed<Family>;
template class Packed<ProjectorFamily>;

}  // namespace modelutils::arch
