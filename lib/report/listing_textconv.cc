#include <fmt/core.h>

#include "base/escape.h"
#include "io/hash.h"
#include "report/key_text.h"
#include "report/listing_forms.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

constexpr std::size_t preview_columns = 60;

// Returns a checksum over the whole array, of which a line shows only a part.
Result<std::string> digest_of(const ListedArray& array) {
  constexpr u64 piece = 256 * 1024;
  Xxh3Stream hash;
  std::vector<std::byte> bytes;
  for (u64 done = 0; done < array.array.bytes; done += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(piece, array.array.bytes - done)));
    MU_TRY(array.file->source->read_exact(array.array.offset + done, bytes));
    hash.update(bytes);
  }
  const std::string digest = hash.digest();
  return hex(std::as_bytes(std::span(digest))).substr(0, 16);
}

// Writes a template line by line, so that a diff shows the changed lines.
void write_lines(TextOutput& out, std::string_view text) {
  while (true) {
    const std::size_t end = text.find('\n');
    out << "    " << escape(text.substr(0, end)) << "\n";
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

Status write_key(TextOutput& out, const ListedKey& key) {
  out << "key " << escape(key.name) << " " << key_type_text(key);
  const auto* text = std::get_if<std::string_view>(&key.value);
  if (text != nullptr && text->find('\n') != std::string_view::npos) {
    out << "\n";
    write_lines(out, *text);
    return {};
  }
  if (text != nullptr) {
    out << " " << escape(*text) << "\n";
    return {};
  }
  MU_ASSIGN(const std::string value, preview(key.value, preview_columns));
  out << " " << value;
  if (const auto* array = std::get_if<ListedArray>(&key.value)) {
    MU_ASSIGN(const std::string digest, digest_of(*array));
    out << " xxh3 " << digest;
  }
  out << "\n";
  return {};
}

}  // namespace

Status write_listing_textconv(TextOutput& out, const Listing& listing, const ListingOptions&) {
  for (const ListedKey& key : listing.keys) MU_TRY(write_key(out, key));
  for (const ListedModule& module : listing.modules) {
    if (!module.quantized) continue;
    out << fmt::format("module {} {} {}-bit, group {}\n", escape(module.path),
                       module.mode.empty() ? "packed" : module.mode, module.bits, module.group_size);
  }
  for (const ListedTensor& tensor : listing.tensors) {
    out << fmt::format("tensor {} {} {}\n", escape(tensor.name()), escape(tensor.type_name),
                       shape_text(tensor.shape()));
  }
  return {};
}

}  // namespace modelutils
