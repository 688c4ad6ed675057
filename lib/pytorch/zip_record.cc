// Reads a record: inflates it and checks its CRC-32.
#include <fmt/core.h>

#include <algorithm>

#include "base/checked_math.h"
#include "pytorch/crc32.h"
#include "pytorch/inflate.h"
#include "pytorch/zip.h"

namespace modelutils::pytorch {

namespace {

Error record_error(std::string code, std::string message, const ZipRecord& record) {
  return Error{.code = std::move(code),
               .message = std::move(message),
               .where = Place{"record", record.name}.text(),
               .offset = record.data_offset};
}

/// Calls take(piece) with successive inflated bytes, then checks the CRC-32.
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

u64 most_pickle_bytes(const ZipRecord& record) {
  constexpr u64 times = 16, free_bytes = u64{256} << 10;
  const u64 most = record.is_deflated ? record.stored_bytes : record.bytes;
  return checked_add(checked_mul(most, times).value_or(most), free_bytes).value_or(most);
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
  bytes.reserve(record.bytes);
  MU_TRY(for_each_piece(source, record, [&](Bytes piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); }));
  return bytes;
}

Status check_crc(const ByteSource& source, const ZipRecord& record) {
  return for_each_piece(source, record, [](Bytes) {});
}

}  // namespace modelutils::pytorch
