// BUMPWGT4 and BUMPWGT5 files of dense text models: the order and sizes of entries, weights_manifest.map, and Bytes ->
// bump5::Document with the possible readings of the payload, which is never read itself. Source:
// docs/formats/bump5.md.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/bump/document.h"
#include "formats/bump/header.h"

namespace modelutils::bump5 {

// clang-format off
enum class Role : u8 {
  token_emb, output_weight,
  vocab_offsets, vocab_strings, vocab_scores, vocab_types, vocab_merges,
  ln1_gamma, ln2_gamma, post_attention_norm, post_ffn_norm,  // per layer, up to b2
  wq, bq, q_norm, wk, bk, k_norm, wv, bv, wo, bo, w1, b1, w2, b2,
  final_ln_weight, final_ln_bias,
};
// clang-format on
inline constexpr std::size_t role_count = 27;

/// The optional entries that are present, the same in every layer.
struct Features {
  bool untied = false;      ///< output.weight
  bool vocabulary = false;  ///< the five vocab_ entries
  bool post_norms = false;  ///< post_attention_norm and post_ffn_norm
  bool qk_norms = false;    ///< q_norm and k_norm
  bool operator==(const Features&) const = default;
};

/// The kind of an entry's contents, which determines where its type is stored.
enum class Content : u8 {
  matrix,      ///< the dtype table has its type
  vector,      ///< FP32, in the dtype table
  qk_norm,     ///< FP32, not in the dtype table
  vocabulary,  ///< the type in RoleInfo::word; not in the dtype table
};

struct RoleInfo {
  Role role;
  std::string_view name;  ///< "wq"; in full "layer.N.wq"
  bool in_layer;          ///< one per layer
  Content content;
  std::string_view word;        ///< the entry's type in manifest and map; empty for a matrix
  std::string_view sources[2];  ///< GGUF names, after "blk.N." if in_layer; empty: zeros. w1 and b1 have two
};
/// Returns the table's row for a role.
const RoleInfo& role_info(Role role);
/// Finds a role by an entry's name without its layer; nullopt if there is none.
std::optional<Role> role_from_name(std::string_view name);

/// An entry of the payload: a role and its layer.
struct Slot {
  Role role = Role::token_emb;
  u32 layer = 0;
  std::string name() const;
};
/// Returns all slots in payload order. Precondition: layers <= max_layers.
std::vector<Slot> slots_of(u64 layers, const Features& features);

/// Returns the number of dtype codes: 4 + untied + layers × (14, or 16 with post norms).
constexpr u64 code_count(u64 layers, const Features& features) {
  return 4 + (features.untied ? 1 : 0) + layers * (features.post_norms ? 16 : 14);
}

/// Rows and columns; a vector is one row. Returns nullopt on overflow.
std::optional<bump::Shape> shape_of(Role role, const Header& header);

/// One entry and its location in the file.
struct Entry {
  Slot slot;
  bump::Dtype dtype = bump::Dtype::fp32;  ///< for matrices and vectors
  u64 offset = 0;                         ///< absolute
  u64 size = 0;                           ///< bytes

  std::string name() const { return slot.name(); }
  /// Returns the type as spelled in manifest and map: "q4_k", "fp32", "i32".
  std::string_view word() const;
  /// Returns the element type; nullopt for int4, which TensorType lacks.
  std::optional<TensorType> type() const;
};

/// Lays out all entries without gaps from the end of the dtype table. `dtypes` has one element per slot, FP32 for slots
/// that are not matrices. Returns nullopt if a row is not a whole number of blocks or the file would exceed 2^62 bytes.
std::optional<std::vector<Entry>> lay_out(const Header& header, const Features& features,
                                          std::span<const bump::Dtype> dtypes);

/// Returns the dtype table for these entries: the renumbered codes, including one for pos_emb, which is not written.
/// Vocabulary and QK norms have no code.
std::vector<u8> table_of(std::span<const Entry> entries);
/// Returns the dtype of each slot from the codes. Returns nullopt if a code is unknown, a vector's code is not 0, or
/// the count is wrong.
std::optional<std::vector<bump::Dtype>> dtypes_of(std::span<const u8> codes, u64 layers, const Features& features);

// weights_manifest.map, the list from which C-Kernel-Engine loads the entries. Source: docs/formats/bump5.md, "The
// map".

/// One line; the fields point into the text.
struct MapLine {
  std::string_view name;
  std::string_view dtype;
  u64 file_offset = 0;
  u64 size = 0;
  u64 runtime_offset = 0;  ///< offset in the engine's memory; must equal file_offset
};

/// Returns the map's text: two comments, then the entries by offset, numbers as 16 hexadecimal digits. An empty entry
/// follows the one at the same offset.
std::string map_text(std::span<const Entry> entries);

/// Calls `visit` with the number (from 1) and content of every line that is not empty or a comment. The content is
/// nullopt if the line has fewer than five fields, or a number that is too large or not decimal, hexadecimal (0x) or
/// octal (0).
void visit_map(std::string_view text, const std::function<void(u64 line, const std::optional<MapLine>&)>& visit);

// Bytes -> bump5::Document, and the possible readings of its payload. Never reads the payload itself.

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

/// An interpretation of a dense text model's payload in which the entries fill it exactly.
struct Reading {
  Features features;
  bool has_fp16_head = false;  ///< output.weight is F16 although its code says FP32; upstream's converter writes such
                               ///< files
  std::vector<Entry> entries;
};
/// Returns every reading that fits: almost always one; none for other kinds of models.
std::vector<Reading> readings_of(const Document& document);

}  // namespace modelutils::bump5
