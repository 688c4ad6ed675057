#include "bump/bump5_parse.h"

#include <fmt/core.h>

#include <array>
#include <cstring>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/counted.h"

namespace modelutils::bump5 {

namespace {

Status read_footer(const ByteSource& source, Document& document) {
  const u64 end = document.file_size;
  const auto report = [&](std::string message, u64 offset) {
    document.findings.error(Scope::container, "bump-footer", std::move(message), "footer", offset);
  };
  if (end - document.payload_begin() < footer_bytes) {
    report("is missing: the file ends too early", end);
    return {};
  }
  std::array<std::byte, footer_bytes> footer{};
  const u64 offset = end - footer_bytes;
  MU_TRY(source.read_exact(offset, footer));
  if (std::memcmp(footer.data(), footer_magic.data(), footer_magic.size()) != 0) {
    report(fmt::format("does not begin with {}: the file is cut off or damaged", footer_magic), offset);
    return {};
  }
  MetadataPlace place;
  place.size = load<u64>(footer.data() + 8);
  if (place.size > offset - document.payload_begin()) {
    report(fmt::format("says that the metadata has {}, more than the file", counted(place.size, "byte")), offset + 8);
    return {};
  }
  place.offset = offset - place.size;
  std::memcpy(place.sha256.data(), footer.data() + 16, place.sha256.size());
  document.metadata = place;
  document.payload_end = place.offset;
  return {};
}

// Returns the dtype table with output.weight changed to FP16; nullopt if it does not apply.
std::optional<std::vector<u8>> with_fp16_head(const Document& document, const Features& features) {
  if (!features.untied || document.codes.size() < 2 || document.codes[1] != 0) return std::nullopt;
  std::vector<u8> codes = document.codes;
  codes[1] = *bump::code_of(bump::Dtype::fp16, bump::Numbering::renumbered);
  return codes;
}

}  // namespace

Result<Document> parse(const ByteSource& source) {
  Document document;
  document.name = source.name();
  document.file_size = document.payload_end = source.size().value_or(0);
  const auto too_short = [&](std::string_view what, u64 needed) {
    document.findings.add({.code = "bump-short",
                           .message = fmt::format("{}; the file ends inside its {}",
                                                  incomplete_text(document.file_size, needed, true), what),
                           .offset = document.file_size,
                           .leads = true});
  };
  if (document.file_size < codes_offset) {
    too_short("header", codes_offset);
    return document;
  }
  std::array<std::byte, codes_offset> head{};
  MU_TRY(source.read_exact(0, head));
  document.version = std::memcmp(head.data(), magic4.data(), magic4.size()) == 0 ? 4 : 5;
  document.header = decode(std::span(head).first<header_bytes>());
  document.code_count = load<u32>(head.data() + table_offset);
  if (document.header.num_layers > bump::max_layers) {
    document.findings.error(
        Scope::container, "bump-layers",
        fmt::format("is {}, at most {} are supported", document.header.num_layers, bump::max_layers),
        "field num_layers", 16);
    return document;
  }
  if (!fits(codes_offset, document.code_count, document.file_size)) {
    too_short("dtype table", codes_offset + document.code_count);
    return document;
  }
  document.codes.resize(document.code_count);
  MU_TRY(source.read_exact(codes_offset, std::as_writable_bytes(std::span(document.codes))));
  if (document.version == 5) MU_TRY(read_footer(source, document));
  return document;
}

std::vector<Reading> readings_of(const Document& document) {
  std::vector<Reading> readings;
  const auto add = [&](const Features& features, const std::vector<u8>& codes, bool has_fp16_head) {
    const auto dtypes = dtypes_of(codes, document.header.num_layers, features);
    if (!dtypes) return;
    auto entries = lay_out(document.header, features, *dtypes);
    if (!entries || entries->back().offset + entries->back().size != document.payload_end) return;
    readings.push_back({features, has_fp16_head, std::move(*entries)});
  };
  for (const bool untied : {false, true}) {
    for (const bool post_norms : {false, true}) {
      for (const bool qk_norms : {false, true}) {
        const Features features{untied, document.header.vocab_bytes != 0, post_norms, qk_norms};
        add(features, document.codes, false);
        if (const auto codes = with_fp16_head(document, features)) add(features, *codes, true);
      }
    }
  }
  return readings;
}

}  // namespace modelutils::bump5
