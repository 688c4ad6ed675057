// The forms in which a listing is written: one function and one row of a table each. A new form is one file that holds
// its function, and one row, which is also its flag.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/text_output.h"
#include "listing/listing.h"

namespace modelutils {

struct ListingOptions {
  bool arrays = false;        ///< JSON: array values in full
  bool excerpts = false;      ///< JSON: of arrays, how many elements they have and the first 16
  bool modules = false;       ///< text: only the modules; JSON: also the modules
  bool only_keys = false;     ///< text: keys were selected, and
  bool only_tensors = false;  ///< the same for tensors: show what was selected and nothing else
  bool color = false;
  bool for_terminal = false;  ///< what is otherwise raw must be escaped; names may be cut
  std::size_t width = 0;      ///< columns of the terminal; 0: not limited
  bool explains = false;      ///< text: what each key means
  bool several = false;       ///< more than one model is printed: say which is which
  bool first = true;          ///< nothing was printed before
};

/// Writes a listing. Errors: those of reading arrays.
using ListingWriter = Status (*)(TextOutput& out, const Listing& listing, const ListingOptions& options);

struct ListingForm {
  std::string_view flag;  ///< "--csv"; empty for what is printed without a flag
  std::string_view help;
  ListingWriter write;
  bool is_for_people = false;      ///< an empty line between several models
  bool is_about_tensors = false;   ///< nothing is left without them
  bool is_of_gguf = false;         ///< only GGUF has it
  bool shows_token_texts = false;  ///< needs ListingRequest::token_texts
};

/// Text first, then as --help lists them.
std::span<const ListingForm> listing_forms();

/// For people: identity and sizes, keys, modules or tensors, as tables.
Status write_listing_text(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// The first part of that: identity and sizes.
Status write_listing_summary(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// One object on one line (docs/json.md, "gguf-dump/1" and "st-dump/1").
Status write_listing_json(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// The tensor table: one object a line.
Status write_listing_jsonl(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// The tensor table; the heading only if options.first.
Status write_listing_csv(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Keys and tensors as tables, the tensors by block, in the manner of gguf-py's --markdown.
Status write_listing_markdown(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// A line for each key and tensor, without path, places and alignment: equal models give the same text, and what
/// changed is all that changes in it. Arrays have a checksum.
Status write_listing_textconv(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// The network as a grid: layer × role, the type in each cell; equal layers share a row.
Status write_listing_layers(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// A number: where the tensor data of the named file begins (nothing where the header breaks off).
Status write_data_offset(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// A number: the alignment of the tensor data of the named file.
Status write_data_alignment(TextOutput& out, const Listing& listing, const ListingOptions& options);

/// The file of a tensor as tensor tables name it: the base name; where several models are shown, the path.
const std::string& shown_file(const Listing& listing, const ListedTensor& tensor, const ListingOptions& options);
/// Does the tensor table need a column for it?
bool shows_files(const Listing& listing, const ListingOptions& options);

}  // namespace modelutils
