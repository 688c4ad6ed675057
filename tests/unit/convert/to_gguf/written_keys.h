// Reads back written GGUF keys.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/write.h"
#include "io/random_access_file.h"

namespace modelutils::test {

// Writes the keys as a GGUF file and parses it with the reader that dumpers and rules use.
class Written {
 public:
  explicit Written(const std::vector<gguf::OutKey>& keys) : Written(*gguf::layout(keys, {})) {}

  const gguf::KeyValue* key(std::string_view name) const { return index_->key(name); }
  const gguf::Index& index() const { return *index_; }
  std::vector<std::string> strings(std::string_view name) const {
    const gguf::ArrayRef* array = index_->array_value(name);
    return array ? *gguf::read_strings(*file_, *document_, *array) : std::vector<std::string>{"no array"};
  }
  gguf::ValueType element_type(std::string_view name) const { return index_->array_value(name)->element_type; }
  template <typename T>
  std::vector<T> numbers(std::string_view name) const {
    return *gguf::read_numbers<T>(*file_, *document_, *index_->array_value(name));
  }

 private:
  explicit Written(const gguf::OutLayout& layout) {
    const auto bytes = std::as_bytes(std::span(layout.header));
    file_ = std::make_unique<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()));
    document_ = std::make_unique<gguf::Document>(*gguf::parse(*file_));
    EXPECT_TRUE(document_->complete);
    EXPECT_TRUE(document_->findings.empty());
    index_ = std::make_unique<gguf::Index>(*document_);
  }
  std::unique_ptr<MemoryFile> file_;
  std::unique_ptr<gguf::Document> document_;
  std::unique_ptr<gguf::Index> index_;
};

}  // namespace modelutils::test
