#include "support/checkpoint_builder.h"

#include <zlib.h>

namespace modelutils::test {

namespace pickle {

namespace {
std::string bytes_of(u64 value, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}
std::string numbers(const std::vector<i32>& values) {
  std::string items;
  for (const i32 value : values) items += integer(value);
  return tuple(items);
}
}  // namespace

std::string u16_bytes(u32 value) {
  return bytes_of(value, 2);
}
std::string u32_bytes(u64 value) {
  return bytes_of(value, 4);
}
std::string u64_bytes(u64 value) {
  return bytes_of(value, 8);
}
std::string text(std::string_view value) {
  return "X" + u32_bytes(value.size()) + std::string(value);
}
std::string integer(i32 value) {
  return "J" + u32_bytes(static_cast<u32>(value));
}
std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
std::string tuple(std::string_view items) {
  return "(" + std::string(items) + "t";
}
std::string storage(std::string_view storage_class, std::string_view key, i32 elements) {
  return tuple(text("storage") + global("torch", storage_class) + text(key) + text("cpu") + integer(elements)) + "Q";
}
std::string legacy_storage(std::string_view storage_class, std::string_view key, i32 elements, std::string_view view) {
  return tuple(text("storage") + global("torch", storage_class) + text(key) + text("cpu") + integer(elements) +
               std::string(view)) +
         "Q";
}
std::string tensor(std::string_view storage, i32 offset, const std::vector<i32>& sizes,
                   const std::vector<i32>& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(std::string(storage) + integer(offset) + numbers(sizes) + numbers(strides) + "\x89" +
               global("collections", "OrderedDict") + ")R") +
         "R";
}
std::string parameter(std::string_view tensor, std::string_view state) {
  return global("torch._utils", "_rebuild_parameter_with_state") +
         tuple(std::string(tensor) + "\x88" + global("collections", "OrderedDict") + ")R" + std::string(state)) + "R";
}
std::string dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string all = "\x80\x02}(";
  for (const auto& [key, value] : entries) all += text(key) + value;
  return all + "u.";
}

}  // namespace pickle

namespace {

using pickle::u16_bytes;
using pickle::u32_bytes;

std::string deflated(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()), '\0');
  std::string in = content;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string zip(const std::vector<ZipPart>& parts, const ZipFaults& faults) {
  std::string file = faults.front, directory;
  for (const ZipPart& part : parts) {
    const std::string stored = part.deflate ? deflated(part.content) : part.content;
    const u32 crc = static_cast<u32>(
        crc32(0, reinterpret_cast<const Bytef*>(part.content.data()), static_cast<uInt>(part.content.size())));
    const u32 method = part.method >= 0 ? static_cast<u32>(part.method) : part.deflate ? 8 : 0;
    const std::string name = part.local_name.empty() ? part.name : part.local_name;
    const auto sizes = [&](u64 own_crc, u64 bytes) {
      return u32_bytes(own_crc) + u32_bytes(part.deflate ? stored.size() : bytes) + u32_bytes(bytes);
    };
    const u64 offset = file.size();
    file += "PK\3\4" + u16_bytes(20) + u16_bytes(part.flags) +
            u16_bytes(part.local_method >= 0 ? static_cast<u32>(part.local_method) : method) + u32_bytes(0) +
            (part.is_empty_there ? std::string(12, '\0') : sizes(crc, part.content.size())) +
            u16_bytes(static_cast<u32>(name.size())) + u16_bytes(0) + name + stored + part.behind;
    directory += "PK\1\2" + u16_bytes(20) + u16_bytes(20) + u16_bytes(part.flags) + u16_bytes(method) + u32_bytes(0) +
                 sizes(part.crc >= 0 ? static_cast<u64>(part.crc) : crc,
                       part.central_bytes >= 0 ? static_cast<u64>(part.central_bytes) : part.content.size()) +
                 u16_bytes(static_cast<u32>(part.name.size())) + u16_bytes(static_cast<u32>(part.extra.size())) +
                 u16_bytes(static_cast<u32>(part.comment.size())) + u16_bytes(part.disk) + u16_bytes(0) +
                 u32_bytes(part.attributes) +
                 u32_bytes(part.header_offset >= 0 ? static_cast<u64>(part.header_offset) : offset) + part.name +
                 part.extra + part.comment;
  }
  file += faults.gap;
  const u64 at = faults.directory_offset >= 0 ? static_cast<u64>(faults.directory_offset) : file.size();
  file += directory;
  if (faults.without_end) return file;
  const u32 count = faults.count >= 0 ? static_cast<u32>(faults.count) : static_cast<u32>(parts.size());
  return file + faults.zip64 + "PK\5\6" + u32_bytes(0) + u16_bytes(count) + u16_bytes(count) +
         u32_bytes(directory.size()) + u32_bytes(at) + u16_bytes(static_cast<u32>(faults.comment.size())) +
         faults.comment + faults.behind;
}

std::string checkpoint(std::string_view pickle, const std::vector<std::pair<std::string, std::string>>& storages) {
  std::vector<ZipPart> parts = {{.name = "archive/data.pkl", .content = std::string(pickle)},
                                {.name = "archive/version", .content = "3\n"}};
  for (const auto& [key, bytes] : storages) parts.push_back({.name = "archive/data/" + key, .content = bytes});
  return zip(parts);
}

}  // namespace modelutils::test
