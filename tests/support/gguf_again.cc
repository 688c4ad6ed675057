#include "support/gguf_again.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace modelutils::test {

namespace {

using gguf::ArrayRef;
using gguf::Bool;
using gguf::Value;

template <typename T>
bool same_bytes(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;  // also equal for NaN
}

std::string bytes_of(const ByteSource& source, u64 offset, u64 size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (!source.read_exact(offset, std::as_writable_bytes(std::span(bytes)))) return "unreadable";
  return bytes;
}

bool same_value(const ByteSource& a_source, const Value& a, const ByteSource& b_source, const Value& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        const T& other = std::get<T>(b);
        if constexpr (std::is_same_v<T, std::string>) {
          return value == other;
        } else if constexpr (std::is_same_v<T, ArrayRef>) {
          return value.element_type == other.element_type && value.count == other.count && value.bytes == other.bytes &&
                 bytes_of(a_source, value.offset, value.bytes) == bytes_of(b_source, other.offset, other.bytes);
        } else {
          return same_bytes(value, other);
        }
      },
      a);
}

}  // namespace

Result<gguf::OutLayout> lay_out_again(const ByteSource& source, const gguf::Document& document) {
  std::vector<gguf::OutKey> keys;
  for (const gguf::KeyValue& key : document.keys) {
    MU_ASSIGN(gguf::OutKey copy, copy_key(source, document, key));
    keys.push_back(std::move(copy));
  }
  std::vector<gguf::OutTensor> tensors;
  for (const gguf::TensorInfo& info : document.tensors) {
    if (!info.type() || info.n_dims != info.ne.size()) {
      return input_error("test-unknown-type", "cannot be written", info.name);
    }
    tensors.push_back({info.name, *info.type(), info.ne});
  }
  return gguf::layout(keys, tensors, document.alignment, document.version, gguf::image_limits);
}

std::string difference(const ByteSource& a_source, const gguf::Document& a, const ByteSource& b_source,
                       const gguf::Document& b) {
  if (a.complete != b.complete) return "complete";
  if (a.version != b.version) return "version";
  if (a.alignment != b.alignment) return "alignment";
  if (a.keys.size() != b.keys.size()) return "number of keys";
  if (a.tensors.size() != b.tensors.size()) return "number of tensors";
  for (std::size_t i = 0; i < a.keys.size(); ++i) {
    if (a.keys[i].key != b.keys[i].key) return fmt::format("name of key {}", i);
    if (!same_value(a_source, a.keys[i].value, b_source, b.keys[i].value)) return fmt::format("value of key {}", i);
  }
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const gguf::TensorInfo& x = a.tensors[i];
    const gguf::TensorInfo& y = b.tensors[i];
    if (x.name != y.name || x.ne != y.ne || x.n_dims != y.n_dims || x.type_id != y.type_id) {
      return fmt::format("tensor {}", i);
    }
  }
  return {};
}

}  // namespace modelutils::test
