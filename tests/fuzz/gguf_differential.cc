// Two readers of one header: the library's, and a slow one written from docs/formats/gguf.md alone, which copies the
// bytes one by one and knows nothing of windows, stacks of counts or early bounds. They must agree on whether a header
// can be read, and on everything in it.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf/parse.h"
#include "io/random_access_file.h"

using namespace modelutils;

namespace {

class SlowReader {
 public:
  struct Tensor {
    std::string name;
    std::vector<u64> ne;
    u64 type = 0;
    u64 offset = 0;
  };
  struct Key {
    std::string name;
    u64 type = 0;
  };

  SlowReader(const u8* data, std::size_t size) : data_(data), size_(size) {}

  // False if a field does not lie in the file, or has a value that the page calls unreadable.
  bool read() {
    if (size_ < 4 || std::memcmp(data_, "GGUF", 4) != 0) return false;
    at_ = 4;
    if (!number(4, version)) return false;
    if (version != 2 && version != 3) {
      at_ = 4;
      swapped_ = true;
      if (!number(4, version) || (version != 2 && version != 3)) return false;
    }
    u64 tensor_count = 0, key_count = 0;
    if (!number(8, tensor_count) || !number(8, key_count)) return false;
    for (u64 i = 0; i < key_count; ++i) {
      Key key;
      if (!text(key.name) || !number(4, key.type) || !value(key.type, 0)) return false;
      keys.push_back(key);
    }
    for (u64 i = 0; i < tensor_count; ++i) {
      Tensor tensor;
      u64 dimensions = 0;
      if (!text(tensor.name) || !number(4, dimensions) || dimensions > 5) return false;
      for (u64 d = 0; d < dimensions; ++d) {
        u64 ne = 0;
        if (!number(8, ne)) return false;
        tensor.ne.push_back(ne);
      }
      if (!number(4, tensor.type) || !number(8, tensor.offset)) return false;
      tensors.push_back(tensor);
    }
    return true;
  }

  u64 version = 0;
  std::vector<Key> keys;
  std::vector<Tensor> tensors;
  std::size_t end() const { return at_; }

 private:
  bool number(int bytes, u64& out) {
    out = 0;
    for (int i = 0; i < bytes; ++i) {
      if (at_ == size_) return false;
      const u64 byte = data_[at_++];
      out |= byte << (8 * (swapped_ ? bytes - 1 - i : i));
    }
    return true;
  }
  bool text(std::string& out) {
    u64 length = 0;
    if (!number(8, length)) return false;
    for (u64 i = 0; i < length; ++i) {
      if (at_ == size_) return false;
      out.push_back(static_cast<char>(data_[at_++]));
    }
    return true;
  }
  bool value(u64 type, int depth) {
    static constexpr int sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type > 12) return false;
    u64 ignored = 0;
    std::string words;
    if (type == 8) return text(words);
    if (type != 9) return number(sizes[type], ignored);
    u64 element = 0, count = 0;
    if (!number(4, element) || element > 12 || !number(8, count)) return false;
    if (element == 9 && depth == 7) return false;  // eight arrays in one another, this one the innermost
    for (u64 i = 0; i < count; ++i) {
      if (at_ == size_) return false;  // every element takes at least a byte
      if (!value(element, depth + 1)) return false;
    }
    return true;
  }

  const u8* data_;
  std::size_t size_;
  std::size_t at_ = 0;
  bool swapped_ = false;
};

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  SlowReader slow(data, size);
  const bool readable = slow.read();
  const auto bytes = std::as_bytes(std::span(data, size));
  const MemoryFile file({bytes.begin(), bytes.end()});
  const auto document = gguf::parse(file);
  if (!document) {
    require(!readable);
    return 0;
  }
  bool few_dimensions = true;  // more than five are skipped, to list what follows
  for (const gguf::TensorInfo& tensor : document->tensors) few_dimensions = few_dimensions && tensor.n_dims <= 5;
  require((document->complete && few_dimensions) == readable);
  if (!readable) return 0;
  require(document->version == slow.version && document->header_end == slow.end());
  require(document->keys.size() == slow.keys.size() && document->tensors.size() == slow.tensors.size());
  for (std::size_t i = 0; i < slow.keys.size(); ++i) {
    require(document->keys[i].key == slow.keys[i].name);
    require(static_cast<u64>(document->keys[i].type()) == slow.keys[i].type);
  }
  for (std::size_t i = 0; i < slow.tensors.size(); ++i) {
    const gguf::TensorInfo& tensor = document->tensors[i];
    require(tensor.name == slow.tensors[i].name && tensor.ne == slow.tensors[i].ne);
    require(tensor.type_id == slow.tensors[i].type && tensor.offset == slow.tensors[i].offset);
  }
  return 0;
}
