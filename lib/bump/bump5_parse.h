// Bytes -> bump5::Document, and the ways in which its payload can be read. Never reads the payload.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/finding_log.h"
#include "bump/bump5_layout.h"

namespace modelutils::bump5 {

/// The footer's metadata where they stand.
struct MetadataPlace {
  u64 offset = 0;
  u64 size = 0;
  bump::Digest sha256{};  ///< as the footer says
};

struct Document {
  std::string name;  ///< path as given
  u64 file_size = 0;
  u32 version = 5;  ///< 4 or 5, by the magic
  Header header;
  u64 code_count = 0;     ///< as in the file
  std::vector<u8> codes;  ///< the dtype table; empty if it is cut off
  u64 payload_end = 0;    ///< end of the file for version 4 and where the footer cannot be used
  std::optional<MetadataPlace> metadata;
  FindingLog findings;  ///< "bump-short", "bump-layers", "bump-footer"

  u64 payload_begin() const { return codes_offset + codes.size(); }
};

/// Reads header, dtype table and footer of `source` (of known size), whose magic is one of the two; another one counts
/// as BUMPWGT5's. Errors: reading. Everything else gives a document, with findings.
Result<Document> parse(const ByteSource& source);

/// One way to read the payload of a dense text model under which the entries end where it ends.
struct Reading {
  Features features;
  bool has_fp16_head = false;  ///< output.weight is F16, though its code says FP32: upstream's converter does so
  std::vector<Entry> entries;
};
/// Every reading that fits; almost always one, none for other kinds of models.
std::vector<Reading> readings_of(const Document& document);

}  // namespace modelutils::bump5
