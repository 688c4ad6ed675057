#include "support/safetensors_builder.h"

#include <fmt/core.h>

#include "base/text.h"

namespace modelutils::test {

SafetensorsBuilder& SafetensorsBuilder::metadata(std::string_view key, std::string_view value) {
  metadata_.push_back(fmt::format(R"("{}":"{}")", key, value));
  return *this;
}

SafetensorsBuilder& SafetensorsBuilder::tensor(std::string_view name, std::string_view dtype, std::string_view shape,
                                               std::string data) {
  const std::string offsets = fmt::format("[{},{}]", data_.size(), data_.size() + data.size());
  data_ += data;
  return entry(name, dtype, shape, offsets);
}

SafetensorsBuilder& SafetensorsBuilder::entry(std::string_view name, std::string_view dtype, std::string_view shape,
                                              std::string_view offsets) {
  return member(fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets));
}

std::string SafetensorsBuilder::json() const {
  if (header_) return *header_;
  std::vector<std::string> all;
  if (!metadata_.empty()) all.push_back(fmt::format(R"("__metadata__":{{{}}})", joined(metadata_, ",")));
  all.insert(all.end(), members_.begin(), members_.end());
  std::string json = fmt::format("{{{}}}", joined(all, ","));
  while (padded_ && json.size() % 8 != 0) json += ' ';
  return json;
}

std::string SafetensorsBuilder::build() const {
  const std::string text = json();
  const u64 length = length_.value_or(text.size());
  std::string file;
  for (int shift = 0; shift < 64; shift += 8) file += static_cast<char>(length >> shift);
  return file + text + data_;
}

std::shared_ptr<MemoryFile> SafetensorsBuilder::source(std::string name) const {
  return memory_file(build(), std::move(name));
}

std::shared_ptr<MemoryFile> memory_file(std::string_view bytes, std::string name) {
  const auto span = std::as_bytes(std::span(bytes));
  return std::make_shared<MemoryFile>(std::vector<std::byte>(span.begin(), span.end()), std::move(name));
}

std::string safetensors_index(const std::vector<std::pair<std::string, std::string>>& weight_map,
                              std::optional<u64> total_size) {
  std::string map;
  for (const auto& [tensor, file] : weight_map) {
    map += fmt::format(R"({}"{}":"{}")", map.empty() ? "" : ",", tensor, file);
  }
  const std::string metadata = total_size ? fmt::format(R"("metadata":{{"total_size":{}}},)", *total_size) : "";
  return fmt::format(R"({{{}"weight_map":{{{}}}}})", metadata, map);
}

}  // namespace modelutils::test
