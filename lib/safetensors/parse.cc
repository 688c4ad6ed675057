#include "safetensors/parse.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "base/counted.h"
#include "io/file_kind.h"
#include "safetensors/header_parser.h"

namespace modelutils::safetensors {

namespace {

bool is_named_safetensors(std::string_view name) {
  constexpr std::string_view extension = ".safetensors";
  if (name.size() < extension.size()) return false;
  name = name.substr(name.size() - extension.size());
  return std::equal(name.begin(), name.end(), extension.begin(),
                    [](char have, char want) { return (have >= 'A' && have <= 'Z' ? have + 32 : have) == want; });
}

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r'); });
}

void refuse(Document& document, std::string code, u64 offset, std::string message, bool leads = false) {
  document.findings.add({.code = std::move(code), .message = std::move(message), .offset = offset, .leads = leads});
}

}  // namespace

bool is_safetensors(std::string_view head, std::string_view name) {
  return begins_as_safetensors(head) || (is_named_safetensors(name) && file_kind(head) == FileKind::unknown);
}

Result<Document> parse(const ByteSource& source) {
  std::byte first{};
  MU_TRY(source.read_some(0, {&first, 1}));  // reports a source that cannot be read at all
  const std::string head = read_head(source);
  if (!is_safetensors(head, source.name())) {
    return input_error("st-not-safetensors",
                       fmt::format("is not a safetensors file but {}", file_kind_text(file_kind(head))), {}, {},
                       source.name());
  }

  Document document;
  document.name = source.name();
  document.file_size = source.size();
  if (head.size() < length_bytes) {
    refuse(document, "st-truncated", head.size(),
           fmt::format("incomplete: the file has {}, but the header's length alone takes 8; download it again",
                       counted(head.size(), "byte")),
           true);
    return document;
  }
  const u64 length = load<u64>(head.data());
  document.header_bytes = length;
  if (length > max_header_bytes && is_text(head.substr(0, length_bytes))) {
    // Do not quote the contents, not even as a number: a shard may be a link to an unrelated, private file.
    refuse(document, "st-header-length", 0, "the file starts with text, not with a header length");
    return document;
  }
  if (length == 0 || length > max_header_bytes) {
    refuse(document, "st-header-length", 0,
           fmt::format("the header's length is {}, it must be 1 to {}", length, max_header_bytes));
    return document;
  }
  document.data_offset = length_bytes + length;
  if (document.file_size && document.data_offset > *document.file_size) {
    refuse(document, "st-header-length", 0,
           fmt::format("{}; the file ends inside its header, which is {} long",
                       incomplete_text(*document.file_size, document.data_offset, true), counted(length, "byte")),
           true);
    return document;
  }
  const auto storage = std::make_shared<Storage>();
  auto text = read_text(source, length_bytes, static_cast<std::size_t>(length));
  if (!text) {
    if (text.error().code != "io-short") return tl::make_unexpected(std::move(text.error()));
    refuse(document, "st-truncated", *text.error().offset,
           "incomplete: the input ends inside the header; download it again", true);
    document.file_size = source.size();
    return document;
  }
  storage->text = std::move(*text);
  parse_header(*storage, length_bytes, document);
  document.storage = storage;
  return document;
}

}  // namespace modelutils::safetensors
