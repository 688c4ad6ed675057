// Writes safetensors files and indexes piece by piece, right ones and wrong ones.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"
#include "io/random_access_file.h"

namespace modelutils::test {

/// Builds one file. Every setter gives the builder back:
///
///   SafetensorsBuilder().metadata("format", "pt").tensor("a", "F32", "[2,2]", std::string(16, '\0')).build()
///
/// Names, dtypes and shapes are raw JSON text (without the quotes of names and dtypes): nothing is checked, escaped or
/// put right, because a wrong file is what many tests want.
class SafetensorsBuilder {
 public:
  SafetensorsBuilder& metadata(std::string_view key, std::string_view value);
  /// The next tensor, its data behind that of the one before.
  SafetensorsBuilder& tensor(std::string_view name, std::string_view dtype, std::string_view shape, std::string data);
  /// An entry with offsets of one's own; adds no data.
  SafetensorsBuilder& entry(std::string_view name, std::string_view dtype, std::string_view shape,
                            std::string_view offsets);
  /// A whole member of the header: `"name":{…}`.
  SafetensorsBuilder& member(std::string_view json) { return members_.emplace_back(json), *this; }
  /// The whole header instead of what the setters give; no padding is added.
  SafetensorsBuilder& header(std::string json) { return header_ = std::move(json), *this; }
  /// The length in front of the header, if it is not to be the true one.
  SafetensorsBuilder& header_length(u64 length) { return length_ = length, *this; }
  /// More bytes of data (what no entry speaks of).
  SafetensorsBuilder& data(std::string_view bytes) { return data_ += bytes, *this; }
  /// Spaces behind the JSON until the data begins at a multiple of 8 (the default), or none.
  SafetensorsBuilder& padded(bool on) { return padded_ = on, *this; }

  std::string json() const;
  std::string build() const;
  std::shared_ptr<MemoryFile> source(std::string name = "m.safetensors") const;

 private:
  std::vector<std::string> metadata_;
  std::vector<std::string> members_;
  std::optional<std::string> header_;
  std::optional<u64> length_;
  std::string data_;
  bool padded_ = true;
};

std::shared_ptr<MemoryFile> memory_file(std::string_view bytes, std::string name);

/// `{"metadata":{"total_size":N},"weight_map":{…}}`; without total_size if nothing is given.
std::string safetensors_index(const std::vector<std::pair<std::string, std::string>>& weight_map,
                              std::optional<u64> total_size = {});

}  // namespace modelutils::test
