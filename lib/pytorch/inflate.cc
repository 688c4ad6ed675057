#include "pytorch/inflate.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>

namespace modelutils::pytorch {

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

}  // namespace modelutils::pytorch
