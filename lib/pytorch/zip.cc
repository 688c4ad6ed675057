#include "pytorch/zip.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/utf8.h"
#include "pytorch/crc32.h"
#include "pytorch/inflate.h"

namespace modelutils::pytorch {

namespace {

constexpr u32 local_signature = 0x04034b50;
constexpr u32 central_signature = 0x02014b50;
constexpr u32 end_signature = 0x06054b50;
constexpr u32 end64_signature = 0x06064b50;
constexpr u32 locator_signature = 0x07064b50;
constexpr u32 descriptor_signature = 0x08074b50;
constexpr u64 end_bytes = 22, end64_bytes = 56, locator_bytes = 20, central_bytes = 46, local_bytes = 30;
constexpr u64 max_comment = 0xffff;
constexpr u32 in_zip64 = 0xffffffff;  // a field whose value is in the zip64 extra field
constexpr u16 in_zip64_short = 0xffff;
constexpr u64 max_directory_bytes = u64{128} << 20;

constexpr u16 flag_descriptor = 0x0008;  // CRC and sizes follow the data
constexpr u16 flag_utf8 = 0x0800;
constexpr u16 flags_deflate_level = 0x0006;
constexpr u16 method_stored = 0, method_deflated = 8;

struct Directory {
  u64 offset = 0;
  u64 bytes = 0;
  u64 count = 0;
};

/// One central or local header, as far as both have the same fields.
struct Header {
  u16 flags = 0;
  u16 method = 0;
  u32 crc = 0;
  u64 stored_bytes = 0;
  u64 bytes = 0;
  std::string name;

  /// Fields that are in `extra`'s zip64 record because they are saturated here, in the format's fixed order. `offset`
  /// only in the central directory. False if a saturated one is missing.
  bool take_zip64(std::string_view extra, u64* offset);
};

bool Header::take_zip64(std::string_view extra, u64* offset) {
  if (bytes != in_zip64 && stored_bytes != in_zip64 && (offset == nullptr || *offset != in_zip64)) return true;
  while (extra.size() >= 4) {
    const auto id = load<u16>(extra.data());
    const auto size = load<u16>(extra.data() + 2);
    extra.remove_prefix(4);
    if (size > extra.size()) return false;
    std::string_view body = extra.substr(0, size);
    extra.remove_prefix(size);
    if (id != 1) continue;
    for (u64* field : {&bytes, &stored_bytes, offset}) {
      if (field == nullptr || *field != in_zip64) continue;
      if (body.size() < 8) return false;
      *field = load<u64>(body.data());
      body.remove_prefix(8);
    }
    return true;
  }
  return false;
}

/// May a record have this name: a relative path that leads nowhere else?
bool is_safe_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != name.npos || name.find('\0') != name.npos) return false;
  if (!is_utf8(name)) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part == "." || part == ".." || (part.empty() && end != name.size())) return false;
    begin = end + 1;
  }
  return true;
}

std::string folded(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return lower;
}

class ZipReader {
 public:
  ZipReader(const ByteSource& source, u64 size) : source_(source), size_(size) {}

  Result<ZipArchive> read();

 private:
  void error(std::string_view code, std::string message, std::string where = {}, std::optional<u64> offset = {}) {
    archive_.findings.error(Scope::container, code, std::move(message), std::move(where), offset);
  }
  static std::string at_record(std::string_view name) { return Place{"record", name}.text(); }

  /// Nothing if there is none; that is a finding then.
  Result<std::optional<Directory>> find_directory();
  Result<std::optional<Directory>> zip64_directory(u64 end_at, const Directory& stated);
  Status read_records(const Directory& directory);
  Status read_local_header(ZipRecord& record, const Header& central, u64 data_limit);
  Status check_descriptor(const ZipRecord& record, u64 data_limit);
  void check_places(u64 data_limit);
  void check_names();

  const ByteSource& source_;
  u64 size_;
  ZipArchive archive_;
};

Result<std::optional<Directory>> ZipReader::find_directory() {
  const std::optional<Directory> none;
  const u64 tail_bytes = std::min<u64>(size_, end_bytes + max_comment);
  std::string tail(tail_bytes, '\0');
  MU_TRY(source_.read_exact(size_ - tail_bytes, std::as_writable_bytes(std::span(tail))));
  for (std::size_t at = tail.size() < end_bytes ? 0 : tail.size() - end_bytes + 1; at-- > 0;) {
    const char* end = tail.data() + at;
    if (load<u32>(end) != end_signature || load<u16>(end + 20) != tail.size() - at - end_bytes) continue;
    const u64 end_at = size_ - tail_bytes + at;
    const Directory stated{load<u32>(end + 16), load<u32>(end + 12), load<u16>(end + 10)};
    if (load<u16>(end + 4) != 0 || load<u16>(end + 6) != 0 || load<u16>(end + 8) != stated.count) {
      error("pt-zip-end", "the end record speaks of several disks", {}, end_at);
      return none;
    }
    return zip64_directory(end_at, stated);
  }
  error("pt-zip-end", "the archive's end record is missing: the file is cut off or is not a whole ZIP archive", {},
        size_);
  return none;
}

Result<std::optional<Directory>> ZipReader::zip64_directory(u64 end_at, const Directory& stated) {
  const std::optional<Directory> none;
  Directory directory = stated;
  u64 directory_end = end_at;
  std::string locator(locator_bytes, '\0');
  if (end_at >= locator_bytes) {
    MU_TRY(source_.read_exact(end_at - locator_bytes, std::as_writable_bytes(std::span(locator))));
  }
  if (load<u32>(locator.data()) == locator_signature) {
    const u64 locator_at = end_at - locator_bytes;
    const u64 end64_at = load<u64>(locator.data() + 8);
    std::string end64(end64_bytes, '\0');
    if (!fits(end64_at, end64_bytes, locator_at)) {
      error("pt-zip-end", "the zip64 locator leads nowhere", {}, locator_at);
      return none;
    }
    MU_TRY(source_.read_exact(end64_at, std::as_writable_bytes(std::span(end64))));
    const auto length = load<u64>(end64.data() + 4);
    if (load<u32>(end64.data()) != end64_signature || checked_add(end64_at + 12, length) != locator_at ||
        load<u32>(locator.data() + 4) != 0 || load<u32>(end64.data() + 16) != 0 || load<u32>(end64.data() + 20) != 0) {
      error("pt-zip-end", "the zip64 end record is not where its locator says, or is not one", {}, end64_at);
      return none;
    }
    directory = {load<u64>(end64.data() + 48), load<u64>(end64.data() + 40), load<u64>(end64.data() + 32)};
    directory_end = end64_at;
    const bool agrees = (stated.offset == in_zip64 || stated.offset == directory.offset) &&
                        (stated.bytes == in_zip64 || stated.bytes == directory.bytes) &&
                        (stated.count == in_zip64_short || stated.count == directory.count);
    if (!agrees) {
      error("pt-zip-end", "the end record and the zip64 end record disagree", {}, end_at);
      return none;
    }
  }
  if (checked_add(directory.offset, directory.bytes) != directory_end) {
    error("pt-zip-end", "the central directory is not where the end record says", {}, end_at);
    return none;
  }
  if (directory.bytes > max_directory_bytes || directory.count > directory.bytes / central_bytes) {
    error("pt-zip-end",
          fmt::format("the end record counts {} records in a central directory of {} bytes; at least {} bytes each and "
                      "at most {} bytes in all are allowed",
                      directory.count, directory.bytes, central_bytes, max_directory_bytes),
          {}, end_at);
    return none;
  }
  return directory;
}

Status ZipReader::read_records(const Directory& directory) {
  ByteReader reader(source_, directory.offset);
  for (u64 i = 0; i < directory.count; ++i) {
    const u64 at = reader.offset();
    if (!fits(at - directory.offset, central_bytes, directory.bytes) || reader.read<u32>() != central_signature) {
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
    reader.skip(8);  // disk, attributes
    u64 header_offset = reader.read<u32>();
    header.name = reader.read_string(name_bytes);
    const std::string extra = reader.read_string(extra_bytes);
    reader.skip(comment_bytes);
    if (!reader.ok()) {
      if (reader.source_error()) return tl::make_unexpected(*reader.source_error());
      error("pt-zip-end", "the central directory is cut off", {}, at);
      return {};
    }
    if (!header.take_zip64(extra, &header_offset)) {
      error("pt-zip-header", "its zip64 sizes are missing", at_record(header.name), at);
      continue;
    }
    ZipRecord record{
        header.name, header_offset, 0, header.stored_bytes, header.bytes, header.crc, header.method == method_deflated};
    const u16 allowed =
        static_cast<u16>(flag_descriptor | flag_utf8 | (record.is_deflated ? flags_deflate_level : u16{0}));
    if (!is_safe_name(header.name)) {
      error("pt-zip-name", "leads out of the archive, or is not a name that torch writes", at_record(header.name), at);
    }
    if ((header.flags & ~allowed) != 0) {
      error("pt-zip-header",
            fmt::format("has the flags {:#06x}: encrypted or patched records are not allowed", header.flags),
            at_record(header.name), at);
      continue;
    }
    if (header.method != method_stored && header.method != method_deflated) {
      error("pt-zip-header",
            fmt::format("has compression method {}; 0 (stored) and 8 (deflated) are allowed", header.method),
            at_record(header.name), at);
      continue;
    }
    if (!record.is_deflated && record.bytes != record.stored_bytes) {
      error("pt-zip-header",
            fmt::format("is stored, but has {} bytes and {} stored ones", record.bytes, record.stored_bytes),
            at_record(header.name), at);
      continue;
    }
    MU_TRY(read_local_header(record, header, directory.offset));
    if (record.data_offset != 0) archive_.records.push_back(std::move(record));
  }
  archive_.complete = reader.offset() == directory.offset + directory.bytes;
  if (!archive_.complete) {
    error("pt-zip-end", "the central directory has more bytes than its records", {}, reader.offset());
  }
  return {};
}

Status ZipReader::read_local_header(ZipRecord& record, const Header& central, u64 data_limit) {
  if (!fits(record.header_offset, local_bytes, data_limit)) {
    error("pt-zip-header", "its local header lies outside the file", at_record(record.name), record.header_offset);
    return {};
  }
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
  if (load<u32>(at) != local_signature ||
      !fits(record.header_offset + local_bytes, name_bytes + extra_bytes, data_limit)) {
    error("pt-zip-header", "has no local header where the central directory says", at_record(record.name),
          record.header_offset);
    return {};
  }
  std::string texts(name_bytes + extra_bytes, '\0');
  MU_TRY(source_.read_exact(record.header_offset + local_bytes, std::as_writable_bytes(std::span(texts))));
  local.name = texts.substr(0, name_bytes);
  const bool has_descriptor = (central.flags & flag_descriptor) != 0;
  const bool has_sizes = local.crc != 0 || local.stored_bytes != 0 || local.bytes != 0 || !has_descriptor;
  if (has_sizes && !local.take_zip64(std::string_view(texts).substr(name_bytes), nullptr)) {
    error("pt-zip-header", "the zip64 sizes of its local header are missing", at_record(record.name),
          record.header_offset);
    return {};
  }
  const bool same_sizes = !has_sizes || (local.crc == central.crc && local.stored_bytes == central.stored_bytes &&
                                         local.bytes == central.bytes);
  if (local.name != central.name || local.flags != central.flags || local.method != central.method || !same_sizes) {
    const std::string_view what = local.name != central.name       ? "name"
                                  : local.method != central.method ? "compression method"
                                  : local.flags != central.flags   ? "flags"
                                                                   : "size or CRC-32";
    error("pt-zip-header", fmt::format("its local header and the central directory differ in {}", what),
          at_record(record.name), record.header_offset);
    return {};
  }
  const u64 data_offset = record.header_offset + local_bytes + name_bytes + extra_bytes;
  if (!fits(data_offset, record.stored_bytes, data_limit)) {
    error("pt-zip-header", fmt::format("its {} bytes do not fit into the file", record.stored_bytes),
          at_record(record.name), record.header_offset);
    return {};
  }
  record.data_offset = data_offset;
  return has_descriptor ? check_descriptor(record, data_limit) : Status{};
}

/// The descriptor behind the data: with or without its signature, with sizes of 4 or 8 bytes.
Status ZipReader::check_descriptor(const ZipRecord& record, u64 data_limit) {
  const u64 at = record.data_offset + record.stored_bytes;
  std::string text(std::min<u64>(24, data_limit - at), '\0');
  MU_TRY(source_.read_exact(at, std::as_writable_bytes(std::span(text))));
  text.resize(24);
  const bool is_signed = load<u32>(text.data()) == descriptor_signature;
  const char* body = text.data() + (is_signed ? 4 : 0);
  const bool is_short = load<u32>(body + 4) == record.stored_bytes && load<u32>(body + 8) == record.bytes;
  const bool is_long = load<u64>(body + 4) == record.stored_bytes && load<u64>(body + 12) == record.bytes;
  if (load<u32>(body) != record.crc32 || (!is_short && !is_long)) {
    error("pt-zip-header", "the descriptor after its data is missing or disagrees with the central directory",
          at_record(record.name), at);
  }
  return {};
}

void ZipReader::check_places(u64 data_limit) {
  std::vector<const ZipRecord*> by_place;
  by_place.reserve(archive_.records.size());
  for (const ZipRecord& record : archive_.records) by_place.push_back(&record);
  std::ranges::sort(by_place, {}, &ZipRecord::header_offset);
  u64 end = 0;
  for (const ZipRecord* record : by_place) {
    if (record->header_offset < end) {
      error("pt-zip-overlap", "shares bytes with another record", at_record(record->name), record->header_offset);
    }
    if (record == by_place.front() && record->header_offset != 0) {
      error("pt-zip-overlap",
            fmt::format("{} bytes in front of the first record are unaccounted for", record->header_offset), {}, 0);
    }
    end = std::max(end, record->data_offset + record->stored_bytes);
  }
  // A descriptor has at most 24 bytes; what else no record owns is hidden from every reader of the directory.
  constexpr u64 most_between = 24;
  if (archive_.complete && data_limit > end && data_limit - end > most_between) {
    error("pt-zip-overlap", fmt::format("{} bytes after the last record are unaccounted for", data_limit - end), {},
          end);
  }
}

void ZipReader::check_names() {
  std::unordered_map<std::string, std::size_t> seen;
  seen.reserve(archive_.records.size());
  for (std::size_t i = 0; i < archive_.records.size(); ++i) {
    const ZipRecord& record = archive_.records[i];
    if (seen.emplace(folded(record.name), i).second) continue;
    error("pt-zip-duplicate", "is there twice (letter case does not count): readers differ in which one they take",
          at_record(record.name), record.header_offset);
  }
}

Result<ZipArchive> ZipReader::read() {
  MU_ASSIGN(const std::optional<Directory> directory, find_directory());
  if (directory) {
    MU_TRY(read_records(*directory));
    check_places(directory->offset);
    check_names();
  }
  return std::move(archive_);
}

}  // namespace

const ZipRecord* ZipArchive::find(std::string_view name) const {
  const auto found = std::ranges::find(records, name, &ZipRecord::name);
  return found == records.end() ? nullptr : &*found;
}

Result<ZipArchive> read_zip(const ByteSource& source) {
  return ZipReader(source, source.size().value_or(0)).read();
}

namespace {

Error record_error(std::string code, std::string message, const ZipRecord& record) {
  return Error{.code = std::move(code),
               .message = std::move(message),
               .where = Place{"record", record.name}.text(),
               .offset = record.data_offset};
}

/// Calls `take` with the inflated bytes, piece by piece, then compares the CRC-32.
template <typename Take>
Status for_each_piece(const ByteSource& source, const ZipRecord& record, Take take) {
  constexpr std::size_t piece_bytes = 256 * 1024;
  std::vector<std::byte> piece(std::min<u64>(piece_bytes, std::max<u64>(record.bytes, 1)));
  const InflatedSource inflated(source, record);
  u32 crc = 0;
  for (u64 at = 0; at < record.bytes;) {
    const MutableBytes out = MutableBytes(piece).first(std::min<u64>(piece.size(), record.bytes - at));
    MU_TRY(record.is_deflated ? inflated.read_exact(at, out) : source.read_exact(record.data_offset + at, out));
    crc = crc32_of(crc, out);
    take(Bytes(out));
    at += out.size();
  }
  if (record.is_deflated) MU_TRY(inflated.check_end());
  if (crc == record.crc32) return {};
  return tl::make_unexpected(wrong_crc(record, crc));
}

}  // namespace

bool inflates_too_far(const ZipRecord& record) {
  constexpr u64 free_bytes = u64{256} << 20;
  return record.is_deflated && record.bytes > free_bytes && record.bytes / most_inflation > record.stored_bytes;
}

Error wrong_crc(const ZipRecord& record, u32 crc) {
  return record_error("pt-zip-crc", fmt::format("its CRC-32 is {:08x}, the archive says {:08x}", crc, record.crc32),
                      record);
}

Result<std::vector<std::byte>> read_record(const ByteSource& source, const ZipRecord& record, u64 most) {
  if (record.bytes > most) {
    return tl::make_unexpected(
        record_error("pt-record-size", fmt::format("has {} bytes; at most {} are read", record.bytes, most), record));
  }
  std::vector<std::byte> bytes;
  if (!record.is_deflated) bytes.reserve(record.bytes);
  MU_TRY(for_each_piece(source, record, [&](Bytes piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); }));
  return bytes;
}

Status check_crc(const ByteSource& source, const ZipRecord& record) {
  return for_each_piece(source, record, [](Bytes) {});
}

}  // namespace modelutils::pytorch
