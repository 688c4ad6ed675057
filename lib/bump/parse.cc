#include "bump/parse.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/counted.h"

namespace modelutils::bump {

namespace {

// Returns all divisors of `number`, ascending. It is a u32 of the header, so this takes at most 65,536 steps.
std::vector<u64> divisors_of(u64 number) {
  std::vector<u64> divisors;
  for (u64 i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    divisors.push_back(i);
    if (i != number / i) divisors.push_back(number / i);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

// The file size grows linearly with the intermediate size, in steps of whole blocks. One division gives the candidate;
// computing its size again checks that it fits exactly.
std::optional<u64> solve_intermediate(Dimensions dimensions, const Census& census, u64 size) {
  constexpr u64 step = 256;  // a multiple of every block size
  dimensions.intermediate = 0;
  const std::optional<u64> base = file_bytes(dimensions, census);
  dimensions.intermediate = step;
  const std::optional<u64> next = file_bytes(dimensions, census);
  if (!base || !next || *base >= size || *next <= *base) return std::nullopt;
  const std::optional<u64> scaled = checked_mul(size - *base, step);
  if (!scaled || *scaled % (*next - *base) != 0) return std::nullopt;
  dimensions.intermediate = *scaled / (*next - *base);
  return file_bytes(dimensions, census) == size ? std::optional(dimensions.intermediate) : std::nullopt;
}

}  // namespace

Result<Document> parse_ignoring_magic(const ByteSource& source) {
  Document document;
  document.name = source.name();
  document.file_size = source.size().value_or(0);
  if (document.file_size < codes_offset) {
    document.findings.add({.code = "bump-short",
                           .message = fmt::format("{}; the file ends inside its header",
                                                  incomplete_text(document.file_size, codes_offset, true)),
                           .offset = document.file_size,
                           .leads = true});
    return document;
  }
  std::array<std::byte, codes_offset> head{};
  MU_TRY(source.read_exact(0, head));
  document.header = decode(std::span(head).first<header_bytes>());
  document.code_count = load<u32>(head.data() + table_offset);
  if (document.header.num_layers > max_layers) {
    document.findings.error(Scope::container, "bump-layers",
                            fmt::format("is {}, at most {} are supported", document.header.num_layers, max_layers),
                            "field num_layers", 0x10);
    return document;
  }
  const u64 expected = entry_count(document.header.num_layers);
  if (document.code_count != expected) {
    document.findings.error(
        Scope::container, "bump-entries",
        fmt::format("is {}, but {} {} {} entries", document.code_count, counted(document.header.num_layers, "layer"),
                    verb(document.header.num_layers, "has", "have"), expected),
        "number of dtype codes", table_offset);
    return document;
  }
  if (!fits(codes_offset, expected, document.file_size)) {
    document.findings.add(
        {.code = "bump-short",
         .message = fmt::format("{}; the file ends inside its dtype table, which has {} from byte {} on",
                                incomplete_text(document.file_size, codes_offset + expected, true),
                                counted(expected, "byte"), codes_offset),
         .where = "dtype table",
         .offset = document.file_size,
         .leads = true});
    return document;
  }
  document.codes.resize(expected);
  MU_TRY(source.read_exact(codes_offset, std::as_writable_bytes(std::span(document.codes))));
  return document;
}

Result<Document> parse(const ByteSource& source) {
  std::array<char, magic.size()> head{};
  const Status read = source.read_exact(0, std::as_writable_bytes(std::span(head)));
  if (!read && read.error().code != "io-short") return tl::make_unexpected(read.error());
  if (!read || std::string_view(head.data(), head.size()) != magic) {
    return input_error("bump-magic", "does not start with BUMPWGT3", {}, 0, source.name());
  }
  return parse_ignoring_magic(source);
}

std::optional<std::vector<Dtype>> dtypes_of(const Document& document, Numbering numbering) {
  std::vector<Dtype> dtypes;
  dtypes.reserve(document.codes.size());
  for (u8 code : document.codes) {
    const std::optional<Dtype> dtype = dtype_from_code(code, numbering);
    if (!dtype) return std::nullopt;
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

std::vector<Reading> readings_of(const Document& document, const Geometry& known, std::size_t most) {
  std::vector<Reading> readings;
  for (Numbering numbering : all_numberings) {
    const std::optional<std::vector<Dtype>> dtypes = dtypes_of(document, numbering);
    if (!document.complete() || !dtypes) continue;
    const Census census = census_of(*dtypes, document.header.num_layers);
    Dimensions dimensions = dimensions_of(document.header);
    for (u64 k : divisors_of(document.header.num_heads)) {
      if (known.kv_heads != 0 && known.kv_heads != k) continue;
      dimensions.kv_heads = k;
      if (known.intermediate != 0) {
        dimensions.intermediate = known.intermediate;
        if (file_bytes(dimensions, census) != document.file_size) continue;
      } else if (const auto solved = solve_intermediate(dimensions, census, document.file_size)) {
        dimensions.intermediate = *solved;
      } else {
        continue;
      }
      readings.push_back({numbering, {k, dimensions.intermediate}});
      if (readings.size() == most) return readings;
    }
  }
  return readings;
}

Dimensions dimensions_of(const Document& document, const Geometry& geometry) {
  Dimensions dimensions = dimensions_of(document.header);
  dimensions.kv_heads = geometry.kv_heads;
  dimensions.intermediate = geometry.intermediate;
  return dimensions;
}

std::vector<Entry> entries_of(const Document& document, const Reading& reading) {
  const std::optional<std::vector<Dtype>> dtypes = dtypes_of(document, reading.numbering);
  if (!dtypes) return {};
  return lay_out(dimensions_of(document, reading.geometry), *dtypes).value_or(std::vector<Entry>{});
}

}  // namespace modelutils::bump
