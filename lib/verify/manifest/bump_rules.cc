#include "verify/manifest/bump_rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/path.h"

namespace modelutils {

namespace {

std::optional<u64> number_of(const Manifest& manifest, std::string_view name) {
  for (const ManifestNumber& number : manifest.numbers) {
    if (number.name == name) return number.value;
  }
  return std::nullopt;
}

void compare_header(const bump::Header& header, const Manifest& manifest, FindingLog& log) {
  for (const bump::HeaderField& field : bump::header_fields()) {
    const u64 value = header.*field.value;
    const std::optional<u64> expected = number_of(manifest, field.name);
    if (!expected || *expected == value) continue;
    log.error(Scope::container, "manifest-differs", fmt::format("is {}, but {} in the manifest", value, *expected),
              fmt::format("field {}", field.name), field.offset);
  }
}

// Reports each wrong code under the numbering for which most codes match the manifest.
void compare_codes(const bump::Document& document, const Manifest& manifest, FindingLog& log) {
  if (document.codes.size() != manifest.entries.size()) return;
  const auto differs = [&](std::size_t i, bump::Numbering numbering) {
    const auto dtype = bump::dtype_from_code(document.codes[i], numbering);
    const std::string_view stated = manifest.entries[i].dtype;
    return !stated.empty() && (!dtype || bump::dtype_name(*dtype) != stated);
  };
  const auto count = [&](bump::Numbering numbering) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < document.codes.size(); ++i) wrong += differs(i, numbering) ? 1 : 0;
    return wrong;
  };
  const bump::Numbering numbering = count(bump::Numbering::original) <= count(bump::Numbering::renumbered)
                                        ? bump::Numbering::original
                                        : bump::Numbering::renumbered;
  for (std::size_t i = 0; i < document.codes.size(); ++i) {
    if (!differs(i, numbering)) continue;
    log.error(Scope::container, "manifest-differs",
              fmt::format("is {} in the {} numbering, but the manifest says {}", document.codes[i],
                          numbering_name(numbering), manifest.entries[i].dtype),
              fmt::format("dtype code of {}", manifest.entries[i].tensor), bump::codes_offset + i);
  }
}

}  // namespace

void check_bump_manifest(const Model& model, const Manifest& manifest, CheckedModel& checked) {
  if (manifest.numbers.empty()) return;  // written by verify --hash: only checksums
  const bump::Document& document = model.bump->document;
  if (document.file_size < bump::codes_offset) return;
  compare_header(document.header, manifest, checked.findings);
  compare_codes(document, manifest, checked.findings);
  if (!checked.catalog.tensors.empty()) return;
  checked.catalog.format = Format::bump;
  checked.catalog.files = {{model.path(), base_name_of(model.path()), model.bump->file}};
  for (std::size_t i = 0; i < manifest.entries.size(); ++i) {
    const ManifestEntry entry = manifest.entries[i];
    if (!entry.offset || !entry.bytes || !fits(*entry.offset, *entry.bytes, document.file_size)) continue;
    Tensor& tensor = checked.catalog.add(std::string(entry.tensor), {});
    tensor.offset = *entry.offset;
    tensor.bytes = *entry.bytes;
  }
}

}  // namespace modelutils
