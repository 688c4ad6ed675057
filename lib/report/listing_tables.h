// The tables of a listing for people: files, keys, modules, tensors, each with its heading.
#pragma once

#include "report/listing_forms.h"
#include "report/style.h"

namespace modelutils {

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
