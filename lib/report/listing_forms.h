// The output forms of a listing. Each has a function and a row in a table. A new form is one file with its function,
// and one row, which also defines its flag.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/standard_output.h"
#include "model/listing/listing.h"
#include "report/table.h"

namespace modelutils {

struct ListingOptions {
  bool arrays = false;        ///< JSON: write arrays in full
  bool excerpts = false;      ///< JSON: write an array's length and its first 16 elements
  bool modules = false;       ///< text: list only modules; JSON: list modules as well
  bool only_keys = false;     ///< text: keys were selected: show only those
  bool only_tensors = false;  ///< text: tensors were selected: show only those
  bool color = false;
  bool for_terminal = false;  ///< escape text that is otherwise raw; names may be cut
  std::size_t width = 0;      ///< columns of the terminal; 0: not limited
  bool explains = false;      ///< text: explain each key
  bool several = false;       ///< more than one model is printed: show the path of each
  bool first = true;          ///< nothing was printed before
};

/// Writes a listing. Errors: those of reading arrays.
using ListingWriter = Status (*)(TextOutput& out, const Listing& listing, const ListingOptions& options);

struct ListingForm {
  std::string_view flag;  ///< "--csv"; empty for the default form
  std::string_view help;
  ListingWriter write;
  ListingWriter write_json = nullptr;  ///< the form's output with --json; nullptr: they cannot be combined
  bool is_for_people = false;          ///< separate several models by an empty line
  bool is_about_tensors = false;       ///< the form needs the tensors
  bool is_of_gguf = false;             ///< the form exists for GGUF only
  bool shows_token_texts = false;      ///< needs ListingRequest::token_texts
};

/// Returns all forms: text first, then in the order of --help.
std::span<const ListingForm> listing_forms();

/// Writes identity and sizes, keys, modules or tensors, as tables for people.
Status write_listing_text(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes the first part of the text form: identity and sizes.
Status write_listing_summary(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes one object on one line (docs/json.md, "gguf-dump/1" and "st-dump/1").
Status write_listing_json(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes the summary and the layers as one object on one line (docs/json.md, "card/1").
Status write_listing_card(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes the tensor table with one object per line.
Status write_listing_jsonl(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes the tensor table; the heading only if options.first.
Status write_listing_csv(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes keys and tensors as tables, the tensors by block, in the manner of gguf-py's --markdown.
Status write_listing_markdown(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes a line for each key and tensor, without path, offsets and alignment: equal models give the same text, and a
/// change to the model changes only its own lines. Arrays are shown by a checksum.
Status write_listing_textconv(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes the network as a grid: layer × role, the type in each cell; equal layers share a row.
Status write_listing_layers(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes the offset of the tensor data in the named file as a number; writes nothing if the header is truncated.
Status write_data_offset(TextOutput& out, const Listing& listing, const ListingOptions& options);
/// Writes the alignment of the tensor data in the named file as a number.
Status write_data_alignment(TextOutput& out, const Listing& listing, const ListingOptions& options);

/// Returns the file name shown in tensor tables: the base name, or the path if several models are shown.
const std::string& shown_file(const Listing& listing, const ListedTensor& tensor, const ListingOptions& options);
/// True if the tensor table needs a file column.
bool shows_files(const Listing& listing, const ListingOptions& options);

// The tables of a listing for people: files, keys, modules, tensors, each with its heading.

class ListingTables {
 public:
  /// Writes an empty line before each heading, except before the first output.
  ListingTables(TextOutput& out, const Listing& listing, const ListingOptions& options, bool& wrote);

  void write_files();
  /// Errors: those of reading arrays. The table is written even if reading fails.
  Status write_keys();
  void write_modules();
  void write_tensors();
  /// True if a key's value was cut.
  bool shortened() const { return shortened_; }

 private:
  void heading(std::string_view what, u64 listed, u64 all);
  std::size_t value_columns() const;

  TextOutput& out_;
  const Listing& listing_;
  const ListingOptions& options_;
  Style style_;
  bool& wrote_;
  bool shortened_ = false;
};

}  // namespace modelutils
