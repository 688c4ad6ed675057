// Look-up of keys and tensors by name, and typed getters for converters and rules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// An index over a document, which must outlive the index and not change. Of duplicate names the first wins.
class Index {
 public:
  explicit Index(const Document& document);

  /// Return the first entry with this name; nullptr if there is none.
  const KeyValue* key(std::string_view key) const;
  const TensorInfo* tensor(std::string_view name) const;

  /// Returns a non-negative integer of any width, signed or unsigned; nullopt if absent, negative or of another type.
  std::optional<u64> unsigned_value(std::string_view key) const;
  /// Returns a FLOAT32 or FLOAT64.
  std::optional<double> float_value(std::string_view key) const;
  /// Any byte but 0 is true, as in the reference.
  std::optional<bool> bool_value(std::string_view key) const;
  /// Returns a STRING as raw bytes; nullopt if absent or of another type.
  std::optional<std::string_view> string_value(std::string_view key) const;
  /// Returns the array's location, or nullptr if the key does not hold an array.
  const ArrayRef* array_value(std::string_view key) const;

  /// general.architecture, or empty.
  std::string_view architecture() const;
  /// "<architecture>.<suffix>".
  std::string arch_key(std::string_view suffix) const;

 private:
  NameIndex keys_;
  NameIndex tensors_;
  std::vector<const KeyValue*> key_entries_;
  std::vector<const TensorInfo*> tensor_entries_;
};

}  // namespace modelutils::gguf
