#include "pytorch/zip_end.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "base/byte_reader.h"
#include "base/checked_math.h"

namespace modelutils::pytorch {

namespace {

constexpr std::string_view end_magic = "PK\x05\x06";
constexpr u32 end64_signature = 0x06064b50;
constexpr u32 locator_signature = 0x07064b50;
constexpr u64 end_bytes = 22, end64_bytes = 56, locator_bytes = 20;
constexpr u64 max_comment = 0xffff;
constexpr u32 saturated = 0xffffffff;  // marks a field whose value is in the zip64 end record
constexpr u16 saturated_short = 0xffff;
constexpr u64 max_directory_bytes = u64{128} << 20;

class EndReader {
 public:
  EndReader(const ByteSource& source, u64 size, FindingLog& findings)
      : source_(source), size_(size), findings_(findings) {}

  Result<std::optional<ZipDirectory>> find_directory();

 private:
  void error(std::string message, u64 offset) {
    findings_.error(Scope::container, "pt-zip-end", std::move(message), {}, offset);
  }
  Result<std::optional<ZipDirectory>> zip64_directory(u64 end_at, const ZipDirectory& stated);

  const ByteSource& source_;
  u64 size_;
  FindingLog& findings_;
};

/// True if an end record may start here: one disk, and equal counts.
bool is_end_record(const char* at) {
  return load<u32>(at + 4) == 0 && load<u16>(at + 8) == load<u16>(at + 10);
}

Result<std::optional<ZipDirectory>> EndReader::find_directory() {
  const std::optional<ZipDirectory> none;
  const u64 tail_bytes = std::min<u64>(size_, end_bytes + max_comment);
  const u64 tail_at = size_ - tail_bytes;
  std::string tail(tail_bytes, '\0');
  MU_TRY(source_.read_exact(tail_at, std::as_writable_bytes(std::span(tail))));
  // Most readers take the last end record, whatever its comment length; others take the one whose comment ends with the
  // file. Require that both are the same.
  const std::size_t at = tail.rfind(end_magic);
  if (at == std::string::npos) {
    error("the archive's end record is missing: the file is cut off or is not a whole ZIP archive", size_);
    return none;
  }
  const char* end = tail.data() + at;
  if (!fits(at, end_bytes, tail.size()) || load<u16>(end + 20) != tail.size() - at - end_bytes) {
    error("the last end record and its comment do not end with the file: readers differ in where the archive ends",
          tail_at + at);
    return none;
  }
  for (std::size_t before = at; before > 0;) {
    before = tail.rfind(end_magic, before - 1);
    if (before == std::string::npos) break;
    if (fits(before, end_bytes, tail.size()) && is_end_record(tail.data() + before)) {
      error("there are two end records: readers differ in which one they use", tail_at + before);
      return none;
    }
  }
  if (!is_end_record(end)) {
    error("the end record refers to several disks", tail_at + at);
    return none;
  }
  return zip64_directory(tail_at + at, {load<u32>(end + 16), load<u32>(end + 12), load<u16>(end + 10)});
}

Result<std::optional<ZipDirectory>> EndReader::zip64_directory(u64 end_at, const ZipDirectory& stated) {
  const std::optional<ZipDirectory> none;
  ZipDirectory directory = stated;
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
      error("the zip64 locator leads nowhere", locator_at);
      return none;
    }
    MU_TRY(source_.read_exact(end64_at, std::as_writable_bytes(std::span(end64))));
    // Some readers use the locator, others look right before it, so both must lead to the same record.
    const bool is_in_place = end64_at + end64_bytes == locator_at && load<u64>(end64.data() + 4) == end64_bytes - 12;
    const bool is_one_disk = load<u32>(locator.data() + 4) == 0 && load<u32>(locator.data() + 16) <= 1 &&
                             load<u32>(end64.data() + 16) == 0 && load<u32>(end64.data() + 20) == 0;
    if (load<u32>(end64.data()) != end64_signature || !is_in_place || !is_one_disk ||
        load<u64>(end64.data() + 24) != load<u64>(end64.data() + 32)) {
      error("the zip64 end record is not where its locator says, or is not one", end64_at);
      return none;
    }
    directory = {load<u64>(end64.data() + 48), load<u64>(end64.data() + 40), load<u64>(end64.data() + 32)};
    directory_end = end64_at;
    const bool agrees = (stated.offset == saturated || stated.offset == directory.offset) &&
                        (stated.bytes == saturated || stated.bytes == directory.bytes) &&
                        (stated.count == saturated_short || stated.count == directory.count);
    if (!agrees) {
      error("the end record and the zip64 end record disagree", end_at);
      return none;
    }
  }
  if (checked_add(directory.offset, directory.bytes) != directory_end) {
    error("the central directory is not where the end record says", end_at);
    return none;
  }
  if (directory.bytes > max_directory_bytes || directory.count > directory.bytes / central_header_bytes) {
    error(fmt::format("the end record counts {} records in a central directory of {} bytes; at least {} bytes each and "
                      "at most {} bytes in all are allowed",
                      directory.count, directory.bytes, central_header_bytes, max_directory_bytes),
          end_at);
    return none;
  }
  return directory;
}

}  // namespace

Result<std::optional<ZipDirectory>> find_zip_directory(const ByteSource& source, u64 size, FindingLog& findings) {
  return EndReader(source, size, findings).find_directory();
}

}  // namespace modelutils::pytorch
