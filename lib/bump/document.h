// A BUMPWGT3 file's header and dtype table as plain structs, and possible readings of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "bump/layout.h"

namespace modelutils::bump {

/// Sizes missing from the header: taken from config.json, or solved from the file's size.
struct Geometry {
  u64 kv_heads = 0;
  u64 intermediate = 0;
  bool operator==(const Geometry&) const = default;
};

/// An interpretation of the file in which the entries add up to its exact size.
struct Reading {
  Numbering numbering = Numbering::original;
  Geometry geometry;
};

struct Document {
  std::string name;  ///< path as given
  u64 file_size = 0;
  Header header;
  u64 code_count = 0;     ///< as in the file at 0x80
  std::vector<u8> codes;  ///< the dtype table; empty if truncated or inconsistent with num_layers
  FindingLog findings;    ///< problems that make the file unreadable: "bump-short", "bump-entries", "bump-layers"

  /// True if header and dtype table were read and agree on the number of entries.
  bool complete() const { return !codes.empty(); }
};

}  // namespace modelutils::bump
