#include "formats/pytorch/zip_record.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <string>

#include "base/byte_reader.h"
#include "base/types.h"
#include "formats/pytorch/check_records.h"
#include "formats/pytorch/zip.h"

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

namespace {

constexpr std::size_t input_bytes = 64 * 1024;
constexpr std::size_t history_bytes = 32 * 1024;
constexpr u64 point_distance = u64{16} << 20;

}  // namespace

struct InflatedSource::State {
  /// A position where decompression can resume, with the last 32 KiB of output before it.
  struct ResumePoint {
    u64 output = 0;
    u64 input = 0;  // offset of the next byte in the record's compressed data
    int bits = 0;   // unused bits of the byte before it
    std::vector<std::byte> window;
  };

  z_stream stream{};
  std::vector<std::byte> input = std::vector<std::byte>(input_bytes);
  u64 next_input = 0;
  u64 output = 0;  // bytes inflated so far
  bool ended = false;
  std::vector<ResumePoint> points;
  std::vector<std::byte> scratch;

  ~State() { inflateEnd(&stream); }
};

InflatedSource::InflatedSource(const ByteSource& source, const ZipRecord& record) : source_(source), record_(record) {}

InflatedSource::~InflatedSource() = default;

Error InflatedSource::broken(std::string_view what) const {
  return Error{.code = "pt-zip-deflate",
               .message = fmt::format("its compressed bytes {}", what),
               .where = Place{"record", record_.name}.text(),
               .offset = record_.data_offset};
}

Status InflatedSource::restart(u64 offset) const {
  if (!state_) {
    state_ = std::make_unique<State>();
    if (inflateInit2(&state_->stream, -MAX_WBITS) != Z_OK) {
      return tl::make_unexpected(
          Error{.kind = ErrorKind::internal, .code = "internal", .message = "zlib cannot start"});
    }
    state_->points.push_back({});
  } else {
    inflateReset(&state_->stream);
  }
  State& state = *state_;
  const auto after = std::ranges::upper_bound(state.points, offset, {}, &State::ResumePoint::output);
  const State::ResumePoint& point = *std::prev(after);
  state.next_input = point.input;
  state.output = point.output;
  state.ended = false;
  state.stream.avail_in = 0;
  if (point.bits != 0) {
    std::byte before{};
    MU_TRY(source_.read_exact(record_.data_offset + point.input - 1, {&before, 1}));
    inflatePrime(&state.stream, point.bits, static_cast<int>(before) >> (8 - point.bits));
  }
  if (!point.window.empty()) {
    inflateSetDictionary(&state.stream, reinterpret_cast<const Bytef*>(point.window.data()),
                         static_cast<uInt>(point.window.size()));
  }
  return {};
}

/// Calls zlib once. Reads more input only if zlib has none left, because zlib may still hold output.
Status InflatedSource::step(int flush) const {
  State& state = *state_;
  z_stream& stream = state.stream;
  if (stream.avail_in == 0) {
    const u64 size = std::min<u64>(input_bytes, record_.stored_bytes - state.next_input);
    MU_TRY(source_.read_exact(record_.data_offset + state.next_input, MutableBytes(state.input).first(size)));
    state.next_input += size;
    stream.next_in = reinterpret_cast<Bytef*>(state.input.data());
    stream.avail_in = static_cast<uInt>(size);
  }
  const int result = inflate(&stream, flush);
  state.ended = result == Z_STREAM_END;
  if (result == Z_OK || result == Z_STREAM_END) return {};
  return tl::make_unexpected(broken(result == Z_BUF_ERROR ? "are too few" : "are broken"));
}

/// Inflates exactly out.size() bytes.
Status InflatedSource::advance(MutableBytes out) const {
  State& state = *state_;
  z_stream& stream = state.stream;
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  while (stream.avail_out > 0) {
    if (state.ended) return tl::make_unexpected(broken("end before the record does"));
    const uInt before = stream.avail_out;
    MU_TRY(step(Z_BLOCK));
    state.output += before - stream.avail_out;
    // The end of a block other than the last: decompression can resume here.
    const bool is_block_end = (stream.data_type & 128) != 0 && (stream.data_type & 64) == 0;
    if (is_block_end && !state.ended && state.output >= state.points.back().output + point_distance) {
      State::ResumePoint point{state.output, state.next_input - stream.avail_in, stream.data_type & 7,
                               std::vector<std::byte>(history_bytes)};
      uInt kept = 0;
      inflateGetDictionary(&stream, reinterpret_cast<Bytef*>(point.window.data()), &kept);
      point.window.resize(kept);
      state.points.push_back(std::move(point));
    }
  }
  return {};
}

Result<std::size_t> InflatedSource::read_some(u64 offset, MutableBytes out) const {
  if (offset >= record_.bytes) return 0;
  out = out.first(std::min<u64>(out.size(), record_.bytes - offset));
  const std::lock_guard lock(mutex_);
  if (!state_ || offset < state_->output || offset >= state_->output + point_distance) {
    const bool ahead = state_ && offset >= state_->output &&
                       state_->points.back().output <= state_->output;  // no resume point is nearer
    if (!ahead) MU_TRY(restart(offset));
  }
  State& state = *state_;
  if (state.scratch.empty()) state.scratch.resize(history_bytes);
  while (state.output < offset) {
    MU_TRY(advance(MutableBytes(state.scratch).first(std::min<u64>(history_bytes, offset - state.output))));
  }
  MU_TRY(advance(out));
  return out.size();
}

Status InflatedSource::check_end() const {
  const std::lock_guard lock(mutex_);
  if (!state_) MU_TRY(restart(0));
  std::byte more{};
  State& state = *state_;
  state.stream.next_out = reinterpret_cast<Bytef*>(&more);
  while (!state.ended) {
    state.stream.avail_out = 1;
    MU_TRY(step(Z_NO_FLUSH));
    if (state.stream.avail_out == 0) return tl::make_unexpected(broken("hold more than the archive says"));
  }
  if (state.next_input - state.stream.avail_in != record_.stored_bytes) {
    return tl::make_unexpected(broken("continue after their end"));
  }
  return {};
}

// Reads a record: inflates it and checks its CRC-32.

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
