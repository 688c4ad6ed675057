// Checks bytes that belong to no tensor: the padding, and data after the last tensor.
#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/checked_math.h"
#include "model/byte_map.h"
#include "rules/gguf/rule_parts.h"
#include "rules/wording.h"

namespace modelutils::gguf_rules {

namespace {

constexpr std::size_t window = 64 * 1024;

// Returns the offset of the first non-zero byte in [begin, end), or nullopt. The range must lie within the file.
Result<std::optional<u64>> first_non_zero(const ByteSource& source, u64 begin, u64 end,
                                          std::vector<std::byte>& buffer) {
  while (begin < end) {
    const std::size_t size = static_cast<std::size_t>(std::min<u64>(window, end - begin));
    if (buffer.size() < size) buffer.resize(size);
    MU_TRY(source.read_exact(begin, MutableBytes(buffer.data(), size)));
    const auto found = std::find_if(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size),
                                    [](std::byte byte) { return byte != std::byte{0}; });
    const u64 at = static_cast<u64>(found - buffer.begin());
    if (at < size) return std::optional<u64>(begin + at);
    begin += size;
  }
  return std::optional<u64>();
}

// Returns the absolute end of the last tensor's data, or the start of the data if no tensor has any. Returns nullopt if
// a tensor has an unknown size or exceeds the file, because the end is unknown then.
std::optional<u64> end_of_data(const gguf::Document& document) {
  u64 end = document.data_offset;
  const u64 file_size = document.file_size.value_or(0);
  for (const gguf::TensorInfo& tensor : document.tensors) {
    const std::optional<u64> bytes = tensor.bytes();
    const std::optional<u64> begin = checked_add(document.data_offset, tensor.offset);
    if (!bytes || !begin || !fits(*begin, *bytes, file_size)) return std::nullopt;
    if (*bytes != 0) end = std::max(end, *begin + *bytes);
  }
  return end;
}

}  // namespace

void check_padding(const ByteSource& source, const gguf::Document& document, FindingLog& log) {
  std::vector<std::byte> buffer;
  const u64 file_size = document.file_size.value_or(0);
  const auto check = [&](u64 begin, u64 end, const std::string& where) {
    const auto found = first_non_zero(source, begin, end, buffer);
    if (!found) {
      log.add(without_path(found.error()));
    } else if (*found) {
      log.warning(Scope::data, "gguf-padding",
                  fmt::format("the padding after it, {} from byte {} on, is not all zeros",
                              counted(end - begin, "byte"), begin),
                  where, **found);
    }
  };
  check(document.header_end, std::min(document.data_offset, file_size), "header");

  // After a tensor, the bytes up to the next multiple of the alignment are padding. Anything beyond is a gap, which the
  // layout rules report.
  std::vector<ByteSpan> spans;
  spans.reserve(document.tensors.size());
  for (std::size_t i = 0; i < document.tensors.size(); ++i) {
    const gguf::TensorInfo& tensor = document.tensors[i];
    const std::optional<u64> begin = checked_add(document.data_offset, tensor.offset);
    // A tensor of unknown size has at least the byte at its offset.
    const u64 bytes = tensor.bytes().value_or(1);
    if (begin && fits(*begin, bytes, file_size)) spans.push_back({*begin, *begin + bytes, i});
  }
  for (const ByteGap& gap : map_bytes(std::move(spans), std::min(document.data_offset, file_size), file_size).gaps) {
    if (gap.before == ByteGap::no_span) continue;
    const gguf::TensorInfo& tensor = document.tensors[gap.before];
    if (!tensor.bytes()) continue;
    const u64 offset = gap.begin - document.data_offset;
    const u64 padded = checked_round_up(offset, document.alignment).value_or(offset);
    check(gap.begin, std::min(gap.end, gap.begin + (padded - offset)), at_tensor(tensor.name));
  }
}

void check_tail(const ByteSource& source, const gguf::Document& document, FindingLog& log) {
  const std::optional<u64> end = end_of_data(document);
  if (!document.file_size || !end) return;
  const u64 file_size = *document.file_size;
  const u64 data_bytes = *end - document.data_offset;
  const u64 padded = document.data_offset + checked_round_up(data_bytes, document.alignment).value_or(data_bytes);
  if (file_size < padded && file_size >= document.data_offset && !document.tensors.empty()) {
    return log.warning(Scope::container, "gguf-last-padding",
                       fmt::format("the last tensor is not padded: the file is {} short of a multiple of {}",
                                   counted(padded - file_size, "byte"), document.alignment),
                       "data", file_size);
  }
  if (file_size <= padded) return;
  std::string what;
  for (const u64 at : {padded, *end}) {
    char head[4] = {};
    const auto got = source.read_some(at, std::as_writable_bytes(std::span(head)));
    if (got && *got == sizeof head && std::string_view(head, sizeof head) == "GGUF") {
      what = fmt::format(": a second GGUF file starts at byte {}", at);
      break;
    }
  }
  log.warning(Scope::container, "gguf-trailing-bytes",
              fmt::format("{} after the last tensor{}", counted(file_size - padded, "byte"), what), "end of the file",
              padded);
}

}  // namespace modelutils::gguf_rules
