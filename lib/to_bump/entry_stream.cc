#include "to_bump/entry_stream.h"

#include <algorithm>
#include <cstring>

#include "transfer/exact_blocks.h"

namespace modelutils {

namespace {

constexpr std::size_t entry_window_bytes = 256 * 1024;
constexpr std::size_t direct_bytes = 32 * 1024;  // runs of this size go straight into the caller's buffer

// Bytes that one run has in the output.
u64 run_in_output(const BumpPart& part) {
  switch (part.kind) {
    case BumpPart::Kind::zeros: return 0;
    case BumpPart::Kind::copy: return part.run;
    case BumpPart::Kind::literal: return part.literal->size();
    case BumpPart::Kind::convert: break;
  }
  const BlockConversion sizes = conversion_of(part.type, part.to);
  return part.run / sizes.from_bytes * sizes.to_bytes;
}

}  // namespace

Result<BumpEntryStream::Filled> BumpEntryStream::fill(MutableBytes out) {
  Filled filled;
  while (filled.bytes < out.size() && entry_ < recipes_.size()) {
    const std::span<const BumpPart> parts = recipes_[entry_];
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
  if (part.kind == BumpPart::Kind::literal) {
    std::memcpy(out.data(), part.literal->data() + position, out.size());
    return out.size();
  }
  if (part.kind == BumpPart::Kind::copy && out.size() >= direct_bytes) {
    MU_TRY(read_runs(part, position, out));
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
  const bool converts = part.kind == BumpPart::Kind::convert;
  const BlockConversion sizes = converts ? conversion_of(part.type, part.to) : BlockConversion{1, 1};
  const u64 first = position / sizes.to_bytes;
  const u64 left = part.repeat * run_in_output(part) / sizes.to_bytes - first;
  const u64 count = std::min<u64>(entry_window_bytes / sizes.to_bytes, left);
  window_begin_ = first * sizes.to_bytes;
  window_.resize(static_cast<std::size_t>(count * sizes.to_bytes));
  if (converts) {
    source_.resize(static_cast<std::size_t>(count * sizes.from_bytes));
    MU_TRY(read_runs(part, first * sizes.from_bytes, source_));
    convert_blocks(part.type, part.to, source_, window_);
  } else {
    MU_TRY(read_runs(part, window_begin_, window_));
  }
  window_valid_ = true;
  return {};
}

// Source bytes from `position` on, where the runs count as one behind the other.
Status BumpEntryStream::read_runs(const BumpPart& part, u64 position, MutableBytes out) const {
  const ByteSource& source = *set_.files[part.file].source;
  if (part.stride == 0) return source.read_exact(part.offset + position, out);
  while (!out.empty()) {
    const u64 inside = position % part.run;
    const MutableBytes piece = out.first(static_cast<std::size_t>(std::min<u64>(out.size(), part.run - inside)));
    MU_TRY(source.read_exact(part.offset + position / part.run * part.stride + inside, piece));
    position += piece.size();
    out = out.subspan(piece.size());
  }
  return {};
}

}  // namespace modelutils
