// Bytes -> bump5::Document, and the possible readings of its payload. Never reads the payload itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/finding_log.h"
#include "bump/bump5_layout.h"

namespace modelutils::bump5 {

/// The location of the footer's metadata.
struct MetadataPlace {
  u64 offset = 0;
  u64 size = 0;
  bump::Digest sha256{};  ///< as stated in the footer
};

struct Document {
  std::string name;  ///< path as given
  u64 file_size = 0;
  u32 version = 5;  ///< 4 or 5, from the magic
  Header header;
  u64 code_count = 0;     ///< as in the file
  std::vector<u8> codes;  ///< the dtype table; empty if truncated
  u64 payload_end = 0;    ///< end of the file for version 4, or if the footer is unusable
  std::optional<MetadataPlace> metadata;
  FindingLog findings;  ///< "bump-short", "bump-layers", "bump-footer"

  u64 payload_begin() const { return codes_offset + codes.size(); }
};

/// Reads header, dtype table and footer of `source`, whose size must be known. An unknown magic is treated as
/// BUMPWGT5's. Errors: read errors. Other problems are findings in the document.
Result<Document> parse(const ByteSource& source);

/// An interpretation of a dense text model's payload in which the entries end exactly at its end.
struct Reading {
  Features features;
  bool has_fp16_head = false;  ///< output.weight is F16 although its code says FP32; upstream's converter writes such
                               ///< files
  std::vector<Entry> entries;
};
/// Returns every reading that fits: almost always one; none for other kinds of models.
std::vector<Reading> readings_of(const Document& document);

}  // namespace modelutils::bump5
