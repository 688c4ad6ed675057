// Look-up of keys and tensors by name, and the typed getters that converters and rules use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_index.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// Index over a document, which must outlive it and not change. The first of several equal names wins.
class Index {
 public:
  explicit Index(const Document& document);

  const KeyValue* key(std::string_view key) const;
  const TensorInfo* tensor(std::string_view name) const;

  /// Integer of any width, signed or not, if it is not negative. Nothing if absent or of another type.
  std::optional<u64> unsigned_value(std::string_view key) const;
  /// FLOAT32 or FLOAT64.
  std::optional<double> float_value(std::string_view key) const;
  /// Any byte but 0 is true, as in the reference.
  std::optional<bool> bool_value(std::string_view key) const;
  std::optional<std::string_view> string_value(std::string_view key) const;
  /// The array where it stands, if the key holds one.
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
