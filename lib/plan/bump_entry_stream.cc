#include "plan/bump_entry_stream.h"

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"
#include "tensor/half.h"

namespace modelutils {

namespace {

constexpr std::size_t entry_window_bytes = 256 * 1024;
constexpr std::size_t direct_bytes = 32 * 1024;  // runs of this size go straight into the caller's buffer

u64 element_bytes(const BumpPart& part) {
  return type_info(part.type).block_bytes;
}

// Bytes that one run has in the output.
u64 run_in_output(const BumpPart& part) {
  return part.kind == BumpPart::Kind::widen ? part.run / element_bytes(part) * 4 : part.run;
}

void widen(TensorType type, Bytes from, MutableBytes to) {
  const std::size_t count = to.size() / 4;
  for (std::size_t i = 0; i < count; ++i) {
    float value = 0;
    switch (type) {
      case TensorType::F16: value = f16_to_f32(load<u16>(from.data() + 2 * i)); break;
      case TensorType::BF16: value = bf16_to_f32(load<u16>(from.data() + 2 * i)); break;
      default: value = load<float>(from.data() + 4 * i); break;
    }
    std::memcpy(to.data() + 4 * i, &value, 4);
  }
}

}  // namespace

Result<BumpEntryStream::Filled> BumpEntryStream::fill(MutableBytes out) {
  Filled filled;
  while (filled.bytes < out.size() && entry_ < entries_.size()) {
    const std::vector<BumpPart>& parts = entries_[entry_].parts;
    if (part_ == parts.size()) {
      ++entry_;
      part_ = 0;
      continue;
    }
    const BumpPart& part = parts[part_];
    const u64 run = run_in_output(part);
    const u64 period = run + part.zeros;
    if (period == 0 || position_ == part.repeat * period) {
      ++part_;
      position_ = 0;
      window_valid_ = false;
      continue;
    }
    MutableBytes rest = out.subspan(filled.bytes);
    const u64 inside = position_ % period;
    std::size_t done = 0;
    if (inside < run) {
      rest = rest.first(static_cast<std::size_t>(std::min<u64>(rest.size(), run - inside)));
      MU_ASSIGN(done, from_source(part, position_ / period * run + inside, rest));
      filled.all_zero = false;
    } else {
      done = static_cast<std::size_t>(std::min<u64>(rest.size(), period - inside));
      std::memset(rest.data(), 0, done);
    }
    position_ += done;
    filled.bytes += done;
  }
  return filled;
}

Result<std::size_t> BumpEntryStream::from_source(const BumpPart& part, u64 position, MutableBytes out) {
  if (part.kind == BumpPart::Kind::copy && out.size() >= direct_bytes) {
    MU_TRY(set_.files[part.file].source->read_exact(part.offset + position, out));
    return out.size();
  }
  if (!window_valid_ || position < window_begin_ || position >= window_begin_ + window_.size()) {
    MU_TRY(load_window(part, position));
  }
  const std::size_t at = static_cast<std::size_t>(position - window_begin_);
  const std::size_t size = std::min(out.size(), window_.size() - at);
  std::memcpy(out.data(), window_.data() + at, size);
  return size;
}

Status BumpEntryStream::load_window(const BumpPart& part, u64 position) {
  const bool widens = part.kind == BumpPart::Kind::widen;
  const ByteSource& source = *set_.files[part.file].source;
  window_begin_ = widens ? position / 4 * 4 : position;
  const u64 left = part.repeat * run_in_output(part) - window_begin_;
  window_.resize(static_cast<std::size_t>(std::min<u64>(entry_window_bytes, left)));
  if (widens) {
    narrow_.resize(window_.size() / 4 * static_cast<std::size_t>(element_bytes(part)));
    MU_TRY(source.read_exact(part.offset + window_begin_ / 4 * element_bytes(part), narrow_));
    widen(part.type, narrow_, window_);
  } else {
    MU_TRY(source.read_exact(part.offset + window_begin_, window_));
  }
  window_valid_ = true;
  return {};
}

}  // namespace modelutils
