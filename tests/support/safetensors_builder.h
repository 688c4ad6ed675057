// Writes valid or deliberately invalid safetensors files and indexes, piece by piece.
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

/// Builds one file. Setters return the builder:
///
///   SafetensorsBuilder().metadata("format", "pt").tensor("a", "F32", "[2,2]", std::string(16, '\0')).build()
///
/// Names, dtypes and shapes are raw JSON text (names and dtypes without quotes). Nothing is validated, escaped or
/// corrected, because many tests need invalid files.
class SafetensorsBuilder {
 public:
  SafetensorsBuilder& metadata(std::string_view key, std::string_view value);
  /// Adds a tensor; its data follows the previous tensor's.
  SafetensorsBuilder& tensor(std::string_view name, std::string_view dtype, std::string_view shape, std::string data);
  /// Adds an entry with the given offsets, and no data.
  SafetensorsBuilder& entry(std::string_view name, std::string_view dtype, std::string_view shape,
                            std::string_view offsets);
  /// Adds a member of the header: `"name":{…}`.
  SafetensorsBuilder& member(std::string_view json) { return members_.emplace_back(json), *this; }
  /// Sets the whole header, instead of the other setters. Adds no padding.
  SafetensorsBuilder& header(std::string json) { return header_ = std::move(json), *this; }
  /// Overrides the length before the header.
  SafetensorsBuilder& header_length(u64 length) { return length_ = length, *this; }
  /// Appends bytes to the data that belong to no entry.
  SafetensorsBuilder& data(std::string_view bytes) { return data_ += bytes, *this; }
  /// Pads the JSON with spaces so that the data starts at a multiple of 8 (the default).
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

/// Returns `{"metadata":{"total_size":N},"weight_map":{…}}`; without total_size if it is nullopt.
std::string safetensors_index(const std::vector<std::pair<std::string, std::string>>& weight_map,
                              std::optional<u64> total_size = {});

}  // namespace modelutils::test
