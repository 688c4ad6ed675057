// Look-up of keys and tensors by name, and the typed getters that converters and rules use.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

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
  /// f32 or f64.
  std::optional<double> float_value(std::string_view key) const;
  std::optional<bool> bool_value(std::string_view key) const;
  std::optional<std::string_view> string_value(std::string_view key) const;
  /// The array where it stands, if the key holds one.
  const ArrayRef* array_value(std::string_view key) const;

  /// general.architecture, or empty.
  std::string_view architecture() const;
  /// "<architecture>.<suffix>".
  std::string arch_key(std::string_view suffix) const;

 private:
  std::unordered_map<std::string_view, const KeyValue*> keys_;
  std::unordered_map<std::string_view, const TensorInfo*> tensors_;
  std::string architecture_;
};

}  // namespace modelutils::gguf
