// BUMPWGT3 files: dtype codes in both numberings, the order and sizes of entries, and Bytes -> bump::Document with the
// search for sizes missing from the header. Never reads the payload. Source: docs/formats/bump.md.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "base/types.h"
#include "formats/bump/header.h"
#include "tensor/types.h"

namespace modelutils::bump {

// The dtype codes of BUMPWGT3 in both numberings; the only table of them. Source: docs/formats/bump.md, "dtype codes".

enum class Dtype : u8 { fp32, bf16, fp16, int8, int4, q4_0, q4_1, q4_k, q6_k, q8_0, q8_k, q5_0, q5_1, q5_k };

/// Upstream renumbered its codes without changing the magic. A file does not state which numbering it uses.
enum class Numbering : u8 { original, renumbered };
inline constexpr Numbering all_numberings[] = {Numbering::original, Numbering::renumbered};
std::string_view numbering_name(Numbering numbering);
std::optional<Numbering> numbering_from_name(std::string_view name);

struct DtypeInfo {
  Dtype dtype;
  std::string_view name;            ///< as in manifests: lower case
  std::optional<TensorType> type;   ///< nullopt for int4, which GGUF does not have
  std::optional<u8> original_code;  ///< nullopt if the numbering has no code for it
  std::optional<u8> renumbered_code;
};

const DtypeInfo& dtype_info(Dtype dtype);
inline std::string_view dtype_name(Dtype dtype) {
  return dtype_info(dtype).name;
}

/// Returns nullopt if no numbering has a code for the type.
std::optional<Dtype> dtype_of(TensorType type);
/// Returns the code of a dtype; nullopt if the numbering has none for it.
std::optional<u8> code_of(Dtype dtype, Numbering numbering);
/// Returns the dtype of a code; nullopt if the numbering lacks the code.
std::optional<Dtype> dtype_from_code(u8 code, Numbering numbering);

/// Returns the number of bytes in a row of `columns` elements. Returns nullopt if they are not a whole number of
/// blocks, or on overflow.
std::optional<u64> row_bytes(Dtype dtype, u64 columns);

// The entries of a BUMPWGT3 file: their order and sizes. Source: docs/formats/bump.md, "Entries".

/// The dimensions that determine every shape, in elements and rows, not bytes.
struct Dimensions {
  u64 layers = 0;
  u64 vocab = 0;         ///< V: rows of the token embedding
  u64 embed = 0;         ///< E
  u64 context = 0;       ///< C
  u64 heads = 0;         ///< H
  u64 kv_heads = 0;      ///< K; not in the file's header
  u64 head_dim = 0;      ///< D
  u64 intermediate = 0;  ///< F; not in the file's header
  u64 aligned_embed = 0;
  u64 aligned_head = 0;

  bool operator==(const Dimensions&) const = default;
};

/// Returns the dimensions stated in a header; kv_heads and intermediate stay 0.
Dimensions dimensions_of(const Header& header);
/// Returns the header for these dimensions, checksum left zero.
Header header_of(const Dimensions& dimensions);

// clang-format off
enum class Role : u8 {
  token_emb, pos_emb,
  ln1_gamma, ln2_gamma, wq, bq, wk, bk, wv, bv, wo, bo, w1, b1, w2, b2,  // per layer
  final_ln_weight, final_ln_bias,
};
// clang-format on

inline constexpr std::size_t role_count = 18;
inline constexpr std::size_t layer_roles = 14;
/// More layers than any model has. A file that claims more is refused before anything is allocated for it.
inline constexpr u64 max_layers = 4096;

struct RoleInfo {
  Role role;
  std::string_view name;        ///< "wq"; in full "layer.N.wq"
  bool in_layer;                ///< one per layer
  bool has_source_type;         ///< a matrix in the source's own type; all other entries are FP32
  std::string_view sources[2];  ///< GGUF names, after "blk.N." if in_layer; empty: zeros. w1 and b1 have two
};

/// Returns the table's row for a role.
const RoleInfo& role_info(Role role);

/// Returns the number of entries = number of dtype codes: 2 + 14 × layers + 2. Precondition: layers <= max_layers.
constexpr u64 entry_count(u64 layers) {
  return 2 + layer_roles * layers + 2;
}

/// Role and layer of entry `index` in a file of `layers` layers; the layer is 0 for entries outside layers.
std::pair<Role, u32> entry_at(u64 index, u64 layers);
/// "token_emb", "layer.3.wq".
std::string entry_name(Role role, u32 layer);

/// Rows and columns; a vector is one row. shape_of() returns nullopt on overflow.
struct Shape {
  u64 rows = 0;
  u64 columns = 0;
};
std::optional<Shape> shape_of(Role role, const Dimensions& dimensions);
/// Returns the size of an entry. Returns nullopt if its rows are not whole blocks of the dtype, or on overflow.
std::optional<u64> entry_bytes(Role role, Dtype dtype, const Dimensions& dimensions);

/// One entry and its location in the file.
struct Entry {
  Role role = Role::token_emb;
  u32 layer = 0;
  Dtype dtype = Dtype::fp32;
  u64 offset = 0;  ///< absolute
  u64 size = 0;    ///< bytes

  std::string name() const { return entry_name(role, layer); }
};

/// Lays out all entries without gaps from the end of the dtype table. `dtypes` has one element per entry, in payload
/// order. Returns nullopt if an entry has no size (see entry_bytes()) or the file would exceed 63 bits.
std::optional<std::vector<Entry>> lay_out(const Dimensions& dimensions, std::span<const Dtype> dtypes);

/// Number of entries per role and dtype: enough to compute a file's size.
using Census = std::map<std::pair<Role, Dtype>, u64>;
Census census_of(std::span<const Dtype> dtypes, u64 layers);
/// Returns the size of the file; nullopt in the same cases as lay_out().
std::optional<u64> file_bytes(const Dimensions& dimensions, const Census& census);

/// Sizes missing from the header: taken from config.json, or solved from the file's size.
struct Geometry {
  u64 kv_heads = 0;
  u64 intermediate = 0;
  bool operator==(const Geometry&) const = default;
};

/// An interpretation of the file in which the entries' sizes add up to the file's size.
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

// Bytes -> bump::Document, and the search for sizes missing from the header. Never reads the payload.

/// Reads header and dtype table of `source`, whose size must be known. Errors: read errors; "bump-magic" if the magic
/// is wrong. Other problems are findings in the document.
Result<Document> parse(const ByteSource& source);

/// Like parse(), but accepts any magic, to diagnose a file whose magic is damaged.
Result<Document> parse_ignoring_magic(const ByteSource& source);

/// Returns the dtype of every entry, or nullopt if a code does not exist in that numbering.
std::optional<std::vector<Dtype>> dtypes_of(const Document& document, Numbering numbering);

/// Returns every reading that fits the file's size, at most `most`. Values that are 0 in `known` are searched: every
/// divisor of num_heads is tried for the key-value heads (no other number is possible), and the intermediate size is
/// solved for. The time does not depend on the payload.
std::vector<Reading> readings_of(const Document& document, const Geometry& known = {0, 0}, std::size_t most = 64);

/// Returns the header's dimensions with the reading's geometry.
Dimensions dimensions_of(const Document& document, const Geometry& geometry);

/// Returns the entries and their locations under a reading that readings_of() returned.
std::vector<Entry> entries_of(const Document& document, const Reading& reading);

}  // namespace modelutils::bump
