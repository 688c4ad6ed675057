#include "formats/pytorch/zip.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "base/byte_reader.h"
#include "base/path.h"
#include "base/types.h"
#include "base/utf8.h"
#include "formats/pytorch/zip_record.h"

namespace modelutils::pytorch {

namespace {

constexpr u32 local_signature = 0x04034b50;
constexpr u32 central_signature = 0x02014b50;
constexpr u32 descriptor_signature = 0x08074b50;
constexpr u64 local_bytes = 30;
constexpr u32 in_zip64 = 0xffffffff;  // marks a field whose value is in the zip64 extra field

constexpr u16 flag_descriptor = 0x0008;  // CRC and sizes follow the data
constexpr u16 flag_utf8 = 0x0800;
constexpr u16 flags_deflate_level = 0x0006;
constexpr u16 method_stored = 0, method_deflated = 8;
constexpr u32 attribute_directory = 0x10;  // of MS-DOS
constexpr u16 extra_zip64 = 1, extra_unicode_path = 0x7075;

/// The fields that central and local headers share.
struct Header {
  u16 flags = 0;
  u16 method = 0;
  u32 crc = 0;
  u64 stored_bytes = 0;
  u64 bytes = 0;
  std::string name;

  /// True if a size, or `offset` of the central directory, is saturated and therefore in the zip64 record.
  bool is_zip64(const u64* offset) const {
    return bytes == in_zip64 || stored_bytes == in_zip64 || (offset != nullptr && *offset == in_zip64);
  }
  /// Reads the saturated fields from the zip64 record in `extra`, in the order that the format prescribes. Returns
  /// false if one is missing.
  bool take_zip64(std::string_view extra, u64* offset);
};

/// Returns the field with this id; nullopt if there is none or more than one.
std::optional<std::string_view> extra_field(std::string_view extra, u16 wanted) {
  std::optional<std::string_view> found;
  while (extra.size() >= 4) {
    const auto id = load<u16>(extra.data());
    const auto size = load<u16>(extra.data() + 2);
    extra.remove_prefix(4);
    if (size > extra.size()) return std::nullopt;
    if (id == wanted && found) return std::nullopt;
    if (id == wanted) found = extra.substr(0, size);
    extra.remove_prefix(size);
  }
  return found;
}

bool Header::take_zip64(std::string_view extra, u64* offset) {
  if (!is_zip64(offset)) return true;
  std::optional<std::string_view> body = extra_field(extra, extra_zip64);
  if (!body) return false;
  for (u64* field : {&bytes, &stored_bytes, offset}) {
    if (field == nullptr || *field != in_zip64) continue;
    if (body->size() < 8) return false;
    *field = load<u64>(body->data());
    body->remove_prefix(8);
  }
  return true;
}

/// True for relative paths that stay below the archive's root.
bool is_safe_name(std::string_view name) {
  const std::string_view without_end = name.substr(0, name.size() - (name.ends_with('/') ? 1 : 0));  // of a folder
  return is_utf8(name) && name.find('\\') == name.npos && stays_below(without_end);
}

class ZipReader {
 public:
  ZipReader(const ByteSource& source, u64 size) : source_(source), size_(size) {}

  Result<ZipArchive> read();

 private:
  /// A record as described by the central directory.
  struct Entry {
    ZipRecord record;
    u16 flags = 0;
    u16 method = 0;
  };

  void error(std::string_view code, std::string message, std::string where = {}, std::optional<u64> offset = {}) {
    archive_.findings.error(Scope::container, code, std::move(message), std::move(where), offset);
  }
  static std::string at_record(std::string_view name) { return Place{"record", name}.text(); }

  Status read_central_headers(const ZipDirectory& directory);
  bool check_central_header(const Header& header, const Entry& entry, u32 attributes, u16 disk, u64 at);
  Status read_places(u64 data_limit);
  Status read_local_header(Entry& entry, u64 data_limit);
  Result<u64> descriptor_bytes(const ZipRecord& record, u64 gap);
  void check_names();

  const ByteSource& source_;
  u64 size_;
  std::vector<Entry> entries_;
  bool all_read_ = true;  // the location of every record is known
  ZipArchive archive_;
};

Status ZipReader::read_central_headers(const ZipDirectory& directory) {
  ByteReader reader(source_, directory.offset);
  for (u64 i = 0; i < directory.count; ++i) {
    const u64 at = reader.offset();
    if (!fits(at - directory.offset, central_header_bytes, directory.bytes) ||
        reader.read<u32>() != central_signature) {
      error(
          "pt-zip-end",
          fmt::format("the end record counts {} records, but only {} are in the central directory", directory.count, i),
          {}, at);
      return {};
    }
    Header header;
    reader.skip(4);  // versions
    header.flags = reader.read<u16>();
    header.method = reader.read<u16>();
    reader.skip(4);  // time and date
    header.crc = reader.read<u32>();
    header.stored_bytes = reader.read<u32>();
    header.bytes = reader.read<u32>();
    const u16 name_bytes = reader.read<u16>();
    const u16 extra_bytes = reader.read<u16>();
    const u16 comment_bytes = reader.read<u16>();
    const u16 disk = reader.read<u16>();
    reader.skip(2);  // internal attributes
    const u32 attributes = reader.read<u32>();
    u64 header_offset = reader.read<u32>();
    header.name = reader.read_string(name_bytes);
    const std::string extra = reader.read_string(extra_bytes);
    reader.skip(comment_bytes);
    if (!reader.ok()) {
      if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
      error("pt-zip-end", "the central directory is cut off", {}, at);
      return {};
    }
    const bool has_sizes = header.take_zip64(extra, &header_offset);
    if (!has_sizes) error("pt-zip-header", "its zip64 sizes are missing", at_record(header.name), at);
    if (extra_field(extra, extra_unicode_path)) {
      error("pt-zip-name", "has a second name in an extra field, which some readers use", at_record(header.name), at);
    }
    Entry entry{{header.name, header_offset, 0, header.stored_bytes, header.bytes, header.crc,
                 header.method == method_deflated},
                header.flags,
                header.method};
    if (has_sizes && check_central_header(header, entry, attributes, disk, at)) {
      entries_.push_back(std::move(entry));
    } else {
      all_read_ = false;
    }
  }
  archive_.complete = reader.offset() == directory.offset + directory.bytes;
  if (!archive_.complete) {
    error("pt-zip-end", "the central directory has more bytes than its records", {}, reader.offset());
  }
  return {};
}

bool ZipReader::check_central_header(const Header& header, const Entry& entry, u32 attributes, u16 disk, u64 at) {
  const ZipRecord& record = entry.record;
  const auto wrong = [&](std::string message) {
    error("pt-zip-header", std::move(message), at_record(header.name), at);
    return false;
  };
  const u16 allowed =
      static_cast<u16>(flag_descriptor | flag_utf8 | (record.is_deflated ? flags_deflate_level : u16{0}));
  if (!is_safe_name(header.name)) {
    error("pt-zip-name", "leads out of the archive, or is not a name that torch writes", at_record(header.name), at);
  }
  if ((header.flags & ~allowed) != 0) {
    return wrong(fmt::format("has the flags {:#06x}: encrypted or patched records are not allowed", header.flags));
  }
  if (header.method != method_stored && header.method != method_deflated) {
    return wrong(fmt::format("has compression method {}; 0 (stored) and 8 (deflated) are allowed", header.method));
  }
  if (!record.is_deflated && record.bytes != record.stored_bytes) {
    return wrong(fmt::format("is stored without compression, but has {} bytes and a stored size of {}", record.bytes,
                             record.stored_bytes));
  }
  if (record.stored_bytes == 0 && record.bytes != 0) {
    return wrong(fmt::format("has {} bytes, but none are stored", record.bytes));
  }
  if (disk != 0) return wrong(fmt::format("is on disk {}", disk));
  // torch does not read directory records, and leaves the memory of such a storage uninitialised.
  const bool is_directory = (attributes & attribute_directory) != 0 || record.name.ends_with('/');
  if (is_directory && record.bytes != 0) return wrong(fmt::format("is a directory of {} bytes", record.bytes));
  return true;
}

Status ZipReader::read_local_header(Entry& entry, u64 data_limit) {
  ZipRecord& record = entry.record;
  const auto wrong = [&](std::string message) {
    error("pt-zip-header", std::move(message), at_record(record.name), record.header_offset);
    return Status{};
  };
  if (!fits(record.header_offset, local_bytes, data_limit)) return wrong("its local header lies outside the file");
  std::string fixed(local_bytes, '\0');
  MU_TRY(source_.read_exact(record.header_offset, std::as_writable_bytes(std::span(fixed))));
  const char* at = fixed.data();
  Header local;
  local.flags = load<u16>(at + 6);
  local.method = load<u16>(at + 8);
  local.crc = load<u32>(at + 14);
  local.stored_bytes = load<u32>(at + 18);
  local.bytes = load<u32>(at + 22);
  const u64 name_bytes = load<u16>(at + 26);
  const u64 extra_bytes = load<u16>(at + 28);
  const u64 texts_at = record.header_offset + local_bytes;
  if (load<u32>(at) != local_signature || !fits(texts_at, name_bytes + extra_bytes, data_limit)) {
    return wrong("has no local header where the central directory says");
  }
  std::string texts(name_bytes + extra_bytes, '\0');
  MU_TRY(source_.read_exact(texts_at, std::as_writable_bytes(std::span(texts))));
  local.name = texts.substr(0, name_bytes);
  const bool has_descriptor = (entry.flags & flag_descriptor) != 0;
  const bool has_sizes = local.crc != 0 || local.stored_bytes != 0 || local.bytes != 0 || !has_descriptor;
  if (has_sizes && !local.take_zip64(std::string_view(texts).substr(name_bytes), nullptr)) {
    return wrong("the zip64 sizes of its local header are missing");
  }
  const bool same_sizes = !has_sizes || (local.crc == record.crc32 && local.stored_bytes == record.stored_bytes &&
                                         local.bytes == record.bytes);
  if (local.name != record.name || local.flags != entry.flags || local.method != entry.method || !same_sizes) {
    const std::string_view what = local.name != record.name      ? "name"
                                  : local.method != entry.method ? "compression method"
                                  : local.flags != entry.flags   ? "flags"
                                                                 : "size or CRC-32";
    return wrong(fmt::format("its local header and the central directory differ in {}", what));
  }
  const u64 data_offset = texts_at + name_bytes + extra_bytes;
  if (!fits(data_offset, record.stored_bytes, data_limit)) {
    return wrong(fmt::format("its {} bytes do not fit into the file", record.stored_bytes));
  }
  record.data_offset = data_offset;
  return {};
}

/// Returns the size of the data descriptor, with or without signature and with sizes of 4 or 8 bytes. The next record
/// starts `gap` bytes after the data. Returns 0, after a finding, if no variant matches.
Result<u64> ZipReader::descriptor_bytes(const ZipRecord& record, u64 gap) {
  constexpr u64 longest = 24;
  const u64 at = record.data_offset + record.stored_bytes;
  std::string text(std::min(longest, gap), '\0');
  MU_TRY(source_.read_exact(at, std::as_writable_bytes(std::span(text))));
  const auto agrees = [&](bool is_signed, u64 width) -> u64 {
    const u64 size = (is_signed ? 8 : 4) + 2 * width;
    if (size > text.size() || (is_signed && load<u32>(text.data()) != descriptor_signature)) return 0;
    const char* body = text.data() + (is_signed ? 4 : 0);
    const u64 stored = width == 4 ? load<u32>(body + 4) : load<u64>(body + 4);
    const u64 bytes = width == 4 ? load<u32>(body + 8) : load<u64>(body + 12);
    return load<u32>(body) == record.crc32 && stored == record.stored_bytes && bytes == record.bytes ? size : 0;
  };
  const u64 sizes[] = {agrees(true, 8), agrees(true, 4), agrees(false, 8), agrees(false, 4)};
  if (std::ranges::find(sizes, gap) != std::end(sizes) && gap != 0) return gap;
  const u64 size = *std::ranges::max_element(sizes);
  if (size == 0) {
    error("pt-zip-header", "the descriptor after its data is missing or disagrees with the central directory",
          at_record(record.name), at);
  }
  return size;
}

/// Reads the local headers in file order, so that no byte is read for two records. Reports bytes that belong to no
/// record, because no reader of the directory sees them.
Status ZipReader::read_places(u64 data_limit) {
  std::vector<Entry*> by_place;
  by_place.reserve(entries_.size());
  for (Entry& entry : entries_) by_place.push_back(&entry);
  std::ranges::stable_sort(by_place, {}, [](const Entry* entry) { return entry->record.header_offset; });
  u64 end = 0;
  const auto check_gap = [&](u64 next) {
    if (!all_read_ || !archive_.complete || next <= end) return;
    error("pt-zip-overlap",
          fmt::format("{} bytes {} are unaccounted for", next - end,
                      end == 0             ? "before the first record"
                      : next == data_limit ? "after the last record"
                                           : "between two records"),
          {}, end);
  };
  for (std::size_t i = 0; i < by_place.size(); ++i) {
    ZipRecord& record = by_place[i]->record;
    if (record.header_offset < end) {
      error("pt-zip-overlap", "shares bytes with another record", at_record(record.name), record.header_offset);
      all_read_ = false;
      continue;
    }
    MU_TRY(read_local_header(*by_place[i], data_limit));
    all_read_ = all_read_ && record.data_offset != 0;
    if (record.data_offset == 0) continue;
    check_gap(record.header_offset);
    end = record.data_offset + record.stored_bytes;
    if ((by_place[i]->flags & flag_descriptor) == 0) continue;
    const u64 next = i + 1 < by_place.size() ? by_place[i + 1]->record.header_offset : data_limit;
    MU_ASSIGN(const u64 bytes, descriptor_bytes(record, std::min(next, data_limit) - std::min(next, end)));
    end += bytes;
  }
  check_gap(data_limit);
  for (Entry& entry : entries_) {
    if (entry.record.data_offset != 0) archive_.records.push_back(std::move(entry.record));
  }
  return {};
}

void ZipReader::check_names() {
  std::unordered_map<std::string, std::size_t> seen;
  seen.reserve(archive_.records.size());
  for (std::size_t i = 0; i < archive_.records.size(); ++i) {
    const ZipRecord& record = archive_.records[i];
    if (seen.emplace(folded_name(record.name), i).second) continue;
    error("pt-zip-duplicate", "appears twice (ignoring case): readers differ in which one they use",
          at_record(record.name), record.header_offset);
  }
}

Result<ZipArchive> ZipReader::read() {
  MU_ASSIGN(const std::optional<ZipDirectory> directory, find_zip_directory(source_, size_, archive_.findings));
  if (directory) {
    MU_TRY(read_central_headers(*directory));
    MU_TRY(read_places(directory->offset));
    check_names();
  }
  return std::move(archive_);
}

}  // namespace

std::string folded_name(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

Result<ZipArchive> read_zip(const ByteSource& source) {
  return ZipReader(source, source.size().value_or(0)).read();
}

}  // namespace modelutils::pytorch
