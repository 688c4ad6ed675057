#include <algorithm>

#include "base/escape.h"
#include "base/numbers.h"
#include "report/listing_forms.h"

namespace modelutils {

namespace {

void append_if_any(std::string& line, std::optional<u64> number) {
  line += ',';
  if (number) append_number(line, *number);
}

// Nearly all names consist of letters, digits, dots and the like and need neither escapes nor quotes.
void append_field(std::string& line, std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ||
           c == '-';
  };
  line += ',';
  if (!text.starts_with('-') && std::ranges::all_of(text, is_plain)) {
    line += text;
  } else {
    line += csv_field(text);
  }
}

}  // namespace

Status write_listing_csv(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  const bool with_file = shows_files(listing, options);
  if (options.first) {
    out << "index,name,type,shape,parameters,bytes,offset,data_offset" << (with_file ? ",file\n" : "\n");
  }
  std::string line;
  for (const ListedTensor& tensor : listing.tensors) {
    line.clear();
    append_number(line, tensor.index);
    append_field(line, tensor.name());
    append_field(line, tensor.type_name);
    char separator = ',';
    for (const u64 dim : tensor.shape()) {
      line += separator;
      append_number(line, dim);
      separator = 'x';
    }
    if (tensor.shape().empty()) line += ',';
    append_if_any(line, tensor.parameters);
    append_if_any(line, tensor.bytes());
    append_if_any(line, tensor.offset());
    append_if_any(line, tensor.data_offset());
    if (with_file) append_field(line, shown_file(listing, tensor, options));
    line += '\n';
    out << line;
  }
  return {};
}

}  // namespace modelutils
