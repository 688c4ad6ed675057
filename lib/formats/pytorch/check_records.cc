#include "formats/pytorch/check_records.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__) && !defined(__clang__)
#include <arm_neon.h>
#endif

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/os/process.h"
#include "base/parallel.h"
#include "formats/pytorch/zip.h"

#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__clang__))
#define MU_HAS_PRODUCT
#endif

namespace modelutils::pytorch {

namespace {

u32 zlib_crc32(u32 crc, const std::byte* bytes, std::size_t size) {
  constexpr std::size_t most = std::size_t{1} << 30;  // zlib takes sizes of 32 bits
  uLong result = crc;
  while (size > 0) {
    const std::size_t piece = std::min(size, most);
    result = ::crc32(result, reinterpret_cast<const Bytef*>(bytes), static_cast<uInt>(piece));
    bytes += piece;
    size -= piece;
  }
  return static_cast<u32>(result);
}

#if defined(MU_HAS_PRODUCT)

// CRC-32 by folding: a message is a polynomial over GF(2), and a block D bits before the end counts as its remainder
// times x^D. So two multiplications by constants move 16 bytes D bits ahead, until only 16 bytes remain, which have the
// same remainder as the whole message (V. Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ",
// 2009). Bits are reflected.
//
// power_of_x() returns x^n modulo the polynomial, shifted by one bit, because a product of reflected numbers is one bit
// short.
constexpr u64 power_of_x(unsigned n) {
  u64 value = u64{1} << 31;
  for (; n > 0; --n) value = (value >> 1) ^ ((value & 1) != 0 ? u64{0xEDB88320} : 0);
  return value << 1;
}

struct Step {
  long long near, far;  // factors for the later and the earlier half of 16 bytes
};
constexpr Step step_over(unsigned bits) {
  return {static_cast<long long>(power_of_x(bits - 32)), static_cast<long long>(power_of_x(bits + 32))};
}

#if defined(__x86_64__)

#define MU_PRODUCT gnu::target("pclmul,sse4.1")
#define MU_FOLDS [[gnu::always_inline, MU_PRODUCT]]

MU_FOLDS inline __m128i load16(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
MU_FOLDS inline void store16(std::byte* at, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(at), value);
}
MU_FOLDS inline __m128i sixteen(Step step) {
  return _mm_set_epi64x(step.near, step.far);
}
MU_FOLDS inline __m128i folded(__m128i front, __m128i step, __m128i onto) {
  const __m128i far = _mm_clmulepi64_si128(front, step, 0x00), near = _mm_clmulepi64_si128(front, step, 0x11);
  return _mm_xor_si128(_mm_xor_si128(far, near), onto);
}
MU_FOLDS inline __m128i exclusive_or(__m128i a, __m128i b) {
  return _mm_xor_si128(a, b);
}

#else

#define MU_PRODUCT gnu::target("+crypto")
#define MU_FOLDS [[gnu::always_inline, MU_PRODUCT]]

MU_FOLDS inline uint64x2_t load16(const std::byte* at) {
  return vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const u8*>(at)));
}
MU_FOLDS inline void store16(std::byte* at, uint64x2_t value) {
  vst1q_u8(reinterpret_cast<u8*>(at), vreinterpretq_u8_u64(value));
}
MU_FOLDS inline uint64x2_t sixteen(Step step) {
  return vcombine_u64(vcreate_u64(static_cast<u64>(step.far)), vcreate_u64(static_cast<u64>(step.near)));
}
MU_FOLDS inline uint64x2_t folded(uint64x2_t front, uint64x2_t step, uint64x2_t onto) {
  const poly64x2_t a = vreinterpretq_p64_u64(front), b = vreinterpretq_p64_u64(step);
  const poly128_t far = vmull_p64(vgetq_lane_p64(a, 0), vgetq_lane_p64(b, 0)), near = vmull_high_p64(a, b);
  return veorq_u64(veorq_u64(vreinterpretq_u64_p128(far), vreinterpretq_u64_p128(near)), onto);
}
MU_FOLDS inline uint64x2_t exclusive_or(uint64x2_t a, uint64x2_t b) {
  return veorq_u64(a, b);
}

#endif

// `size` must be a multiple of 16 and at least 64.
[[MU_PRODUCT]] u32 folding_crc32(u32 crc, const std::byte* at, std::size_t size) {
  constexpr Step over64 = step_over(8 * 64), over16 = step_over(8 * 16);
  const auto by64 = sixteen(over64), by16 = sixteen(over16);
  auto a = exclusive_or(load16(at), sixteen({0, static_cast<long long>(u64{~crc})}));
  auto b = load16(at + 16), c = load16(at + 32), d = load16(at + 48);
  for (at += 64, size -= 64; size >= 64; at += 64, size -= 64) {
    a = folded(a, by64, load16(at));
    b = folded(b, by64, load16(at + 16));
    c = folded(c, by64, load16(at + 32));
    d = folded(d, by64, load16(at + 48));
  }
  a = folded(folded(folded(a, by16, b), by16, c), by16, d);
  for (; size >= 16; at += 16, size -= 16) a = folded(a, by16, load16(at));
  std::array<std::byte, 16> left;
  store16(left.data(), a);
  return zlib_crc32(~u32{0}, left.data(), left.size());  // continues from a register of zeros
}

#if defined(__x86_64__)

#undef MU_FOLDS
#define MU_FOLDS [[gnu::always_inline, gnu::target("vpclmulqdq,avx2,pclmul")]]

MU_FOLDS inline __m256i load32(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
MU_FOLDS inline __m256i folded(__m256i front, __m256i step, __m256i onto) {
  const __m256i far = _mm256_clmulepi64_epi128(front, step, 0x00), near = _mm256_clmulepi64_epi128(front, step, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(far, near), onto);
}

// The same, 32 bytes at a time. `size` must be a multiple of 128 and at least 128.
[[gnu::target("vpclmulqdq,avx2,pclmul")]] u32 folding_crc32_by_32(u32 crc, const std::byte* at, std::size_t size) {
  constexpr Step over128 = step_over(8 * 128);
  const __m256i step = _mm256_set_epi64x(over128.near, over128.far, over128.near, over128.far);
  __m256i a = _mm256_xor_si256(load32(at), _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, static_cast<int>(~crc)));
  __m256i b = load32(at + 32), c = load32(at + 64), d = load32(at + 96);
  for (at += 128, size -= 128; size > 0; at += 128, size -= 128) {
    a = folded(a, step, load32(at));
    b = folded(b, step, load32(at + 32));
    c = folded(c, step, load32(at + 64));
    d = folded(d, step, load32(at + 96));
  }
  alignas(32) std::array<std::byte, 128> left;
  std::byte* out = left.data();
  for (const __m256i part : {a, b, c, d}) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), part);
    out += 32;
  }
  return folding_crc32(~u32{0}, left.data(), left.size());
}

#endif

#undef MU_PRODUCT
#undef MU_FOLDS

#endif

}  // namespace

CarrylessProduct best_carryless_product() {
#if defined(__x86_64__)
  static const CarrylessProduct best = [] {
    if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.1")) return CarrylessProduct::none;
    const bool is_wide = __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2");
    return is_wide ? CarrylessProduct::of_32_bytes : CarrylessProduct::of_16_bytes;
  }();
  return best;
#elif defined(MU_HAS_PRODUCT)
  static const bool has = os::has_carryless_product();
  return has ? CarrylessProduct::of_16_bytes : CarrylessProduct::none;
#else
  return CarrylessProduct::none;
#endif
}

u32 crc32_of(u32 crc, Bytes bytes, [[maybe_unused]] CarrylessProduct product) {
  [[maybe_unused]] constexpr std::size_t fewest = 256;  // zlib is as fast for smaller sizes
#if defined(__x86_64__)
  if (product == CarrylessProduct::of_32_bytes && bytes.size() >= fewest) {
    const std::size_t whole = bytes.size() / 128 * 128;
    crc = folding_crc32_by_32(crc, bytes.data(), whole);
    bytes = bytes.subspan(whole);
  }
#endif
#if defined(MU_HAS_PRODUCT)
  if (product == CarrylessProduct::of_16_bytes && bytes.size() >= fewest) {
    const std::size_t whole = bytes.size() / 16 * 16;
    crc = folding_crc32(crc, bytes.data(), whole);
    bytes = bytes.subspan(whole);
  }
#endif
  return zlib_crc32(crc, bytes.data(), bytes.size());
}

u32 crc32_joined(u32 first, u32 second, u64 second_bytes) {
  return static_cast<u32>(::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

void ReadChecksums::add(u64 offset, Bytes bytes) {
  if (bytes.empty()) return;
  const u64 end = offset + bytes.size();
  const u32 crc = crc32_of(0, bytes);
  const std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(offset);
  if (next != ranges_.end() && next->first < end) return;
  auto range = ranges_.end();
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end > offset) return;
    if (before->second.end == offset) {
      before->second = {end, crc32_joined(before->second.crc32, crc, bytes.size())};
      range = before;
    }
  }
  if (range == ranges_.end()) range = ranges_.emplace_hint(next, offset, Range{end, crc});
  if (next == ranges_.end() || next->first != end) return;
  const u64 next_bytes = next->second.end - end;
  range->second = {next->second.end, crc32_joined(range->second.crc32, next->second.crc32, next_bytes)};
  ranges_.erase(next);
}

namespace {

constexpr u64 piece_bytes = u64{1} << 20;

// Unread bytes of a stored record. Pieces are numbered across all gaps; `first_piece` is the gap's first.
struct Gap {
  u64 offset;
  u64 bytes;
  u64 first_piece;
};

class Gaps {
 public:
  Gaps(const std::vector<ZipRecord>& records, const ReadChecksums& read) {
    for (const ZipRecord& record : records) {
      if (!record.is_deflated) add(record.data_offset, record.data_offset + record.stored_bytes, read.ranges());
    }
  }

  Status read(const ByteSource& source, ReadChecksums& into, unsigned threads) const {
    std::vector<std::vector<std::byte>> buffers(threads);
    return parallel_for(pieces_, threads, [&](u64 item, unsigned thread) -> Status {
      const Gap& gap = *std::prev(std::ranges::upper_bound(gaps_, item, {}, &Gap::first_piece));
      const u64 at = (item - gap.first_piece) * piece_bytes;
      const u64 bytes = std::min(piece_bytes, gap.bytes - at);
      if (buffers[thread].size() < bytes) buffers[thread].resize(bytes);
      const MutableBytes out = MutableBytes(buffers[thread]).first(bytes);
      MU_TRY(source.read_exact(gap.offset + at, out));
      into.add(gap.offset + at, out);
      return {};
    });
  }

 private:
  void add(u64 at, u64 end, const std::map<u64, ReadChecksums::Range>& known) {
    for (auto range = known.lower_bound(at); range != known.end() && range->first < end; ++range) {
      add_gap(at, range->first);
      at = range->second.end;
    }
    add_gap(at, end);
  }

  void add_gap(u64 at, u64 end) {
    if (at >= end) return;
    gaps_.push_back({at, end - at, pieces_});
    pieces_ += (end - at - 1) / piece_bytes + 1;
  }

  std::vector<Gap> gaps_;
  u64 pieces_ = 0;
};

Status check_record(const ByteSource& source, const ZipRecord& record, const ReadChecksums& read) {
  const auto range = read.ranges().find(record.data_offset);
  const bool is_known = !record.is_deflated && range != read.ranges().end() &&
                        range->second.end == record.data_offset + record.stored_bytes;
  if (!is_known) return check_crc(source, record);  // deflated, empty, or it shares bytes with another record
  if (range->second.crc32 == record.crc32) return {};
  return tl::make_unexpected(wrong_crc(record, range->second.crc32));
}

}  // namespace

Result<FindingLog> check_records(const ByteSource& source, const Document& document, ReadChecksums& read,
                                 unsigned threads) {
  MU_TRY(Gaps(document.records, read).read(source, read, threads));
  std::mutex mutex;
  std::map<u64, Error> wrong;
  MU_TRY(parallel_for(document.records.size(), threads, [&](u64 item, unsigned) -> Status {
    const ZipRecord& record = document.records[item];
    if (inflates_too_far(record)) return {};  // parse() has already reported it if any tensor uses the record
    Status checked = check_record(source, record, read);
    if (checked || checked.error().code.starts_with("io-")) return checked;
    const std::lock_guard lock(mutex);
    wrong.emplace(item, std::move(checked.error()));
    return {};
  }));
  FindingLog findings;
  for (auto& [item, error] : wrong) {
    error.scope = Scope::data;
    findings.add(std::move(error));
  }
  return findings;
}

}  // namespace modelutils::pytorch
