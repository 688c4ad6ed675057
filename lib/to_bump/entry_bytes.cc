#include "to_bump/entry_bytes.h"

#include <algorithm>
#include <cstring>

#include "transfer/exact_blocks.h"

namespace modelutils {

namespace {

constexpr u64 entry_window_bytes = 256 * 1024;
constexpr std::size_t direct_bytes = 32 * 1024;  // runs of at least this size are read directly into the caller's
                                                 // buffer

// Returns the size of one run in the output.
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

// Return the size of one run with its zeros, and of the whole part.
u64 period_of(const BumpPart& part) {
  return run_in_output(part) + part.zeros;
}
u64 bytes_of(const BumpPart& part) {
  return part.repeat * period_of(part);
}

}  // namespace

u64 bytes_of(std::span<const BumpPart> parts) {
  u64 bytes = 0;
  for (const BumpPart& part : parts) bytes += bytes_of(part);
  return bytes;
}

Status BumpEntryReader::read(std::span<const BumpPart> parts, u64 position, MutableBytes out) {
  for (const BumpPart& part : parts) {
    if (out.empty()) return {};
    const u64 bytes = bytes_of(part);
    if (position >= bytes) {
      position -= bytes;
      continue;
    }
    const auto here = static_cast<std::size_t>(std::min<u64>(out.size(), bytes - position));
    MU_TRY(read_part(part, position, out.first(here)));
    out = out.subspan(here);
    position = 0;
  }
  return out.empty() ? Status() : internal_error("an entry is shorter than planned");
}

Status BumpEntryReader::read_part(const BumpPart& part, u64 position, MutableBytes out) {
  const u64 run = run_in_output(part);
  const u64 period = period_of(part);
  while (!out.empty()) {
    const u64 inside = position % period;
    std::size_t done = 0;
    if (inside < run) {
      const auto rest = static_cast<std::size_t>(std::min<u64>(out.size(), run - inside));
      MU_ASSIGN(done, from_source(part, position / period * run + inside, out.first(rest), out.size()));
    } else {
      done = static_cast<std::size_t>(std::min<u64>(out.size(), period - inside));
      std::memset(out.data(), 0, done);
    }
    position += done;
    out = out.subspan(done);
  }
  return {};
}

Result<std::size_t> BumpEntryReader::from_source(const BumpPart& part, u64 position, MutableBytes out, u64 wanted) {
  if (part.kind == BumpPart::Kind::literal) {
    std::memcpy(out.data(), part.literal->data() + position, out.size());
    return out.size();
  }
  if (part.kind == BumpPart::Kind::copy && out.size() >= direct_bytes) {
    MU_TRY(read_runs(part, position, out));
    return out.size();
  }
  if (window_of_ != &part || position < window_begin_ || position >= window_begin_ + window_.size()) {
    MU_TRY(load_window(part, position, wanted));
  }
  const std::size_t at = static_cast<std::size_t>(position - window_begin_);
  const std::size_t size = std::min(out.size(), window_.size() - at);
  std::memcpy(out.data(), window_.data() + at, size);
  return size;
}

Status BumpEntryReader::load_window(const BumpPart& part, u64 position, u64 wanted) {
  const bool converts = part.kind == BumpPart::Kind::convert;
  window_of_ = nullptr;
  const BlockConversion sizes = converts ? conversion_of(part.type, part.to) : BlockConversion{1, 1};
  const u64 first = position / sizes.to_bytes;
  const u64 left = part.repeat * run_in_output(part) / sizes.to_bytes - first;
  const u64 needed = (position + wanted - 1) / sizes.to_bytes - first + 1;
  const u64 count = std::min({entry_window_bytes / sizes.to_bytes, needed, left});
  window_begin_ = first * sizes.to_bytes;
  window_.resize(static_cast<std::size_t>(count * sizes.to_bytes));
  if (converts) {
    source_.resize(static_cast<std::size_t>(count * sizes.from_bytes));
    MU_TRY(read_runs(part, first * sizes.from_bytes, source_));
    convert_blocks(part.type, part.to, source_, window_);
  } else {
    MU_TRY(read_runs(part, window_begin_, window_));
  }
  window_of_ = &part;
  return {};
}

// Reads source bytes starting at `position`, counted as if the runs were contiguous.
Status BumpEntryReader::read_runs(const BumpPart& part, u64 position, MutableBytes out) const {
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
