#include "report/listing_forms.h"

#include <fmt/core.h>

namespace modelutils {

std::span<const ListingForm> listing_forms() {
  static constexpr ListingForm forms[] = {
      {.flag = "", .help = "", .write = write_listing_text, .is_for_people = true, .shows_token_texts = true},
      {.flag = "--summary",
       .help = "Only the summary, without the tables",
       .write = write_listing_summary,
       .is_for_people = true,
       .shows_token_texts = true},
      {.flag = "--jsonl",
       .help = "The tensor table as JSON, one object per line",
       .write = write_listing_jsonl,
       .is_about_tensors = true},
      {.flag = "--csv", .help = "The tensor table as CSV", .write = write_listing_csv, .is_about_tensors = true},
      {.flag = "--markdown",
       .help = "Keys and tensors as Markdown tables",
       .write = write_listing_markdown,
       .is_for_people = true},
      {.flag = "--layers",
       .help = "A grid of layers × roles with the tensor type in each cell; equal layers share a row",
       .write = write_listing_layers,
       .is_for_people = true,
       .is_about_tensors = true},
      {.flag = "--textconv",
       .help = "One line per key and tensor, without paths or offsets, for git's textconv and for diff",
       .write = write_listing_textconv},
      {.flag = "--data-offset",
       .help = "Only the offset at which this file's tensor data begins",
       .write = write_data_offset,
       .is_of_gguf = true},
      {.flag = "--data-alignment",
       .help = "Only the alignment of this file's tensor data",
       .write = write_data_alignment,
       .is_of_gguf = true},
  };
  return forms;
}

Status write_data_offset(TextOutput& out, const Listing& listing, const ListingOptions&) {
  // A truncated header has no data offset; the error reports that.
  if (const auto offset = listing.files[listing.named_file].data_offset) out << fmt::format("{}\n", *offset);
  return {};
}

Status write_data_alignment(TextOutput& out, const Listing& listing, const ListingOptions&) {
  out << fmt::format("{}\n", listing.files[listing.named_file].alignment);
  return {};
}

const std::string& shown_file(const Listing& listing, const ListedTensor& tensor, const ListingOptions& options) {
  const ListedFile& file = listing.files[tensor.stored->file];
  return options.several ? file.path : file.name;
}

bool shows_files(const Listing& listing, const ListingOptions& options) {
  return listing.is_split() || options.several;
}

}  // namespace modelutils
