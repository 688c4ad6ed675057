// Which entries a BUMPWGT3 file has, in which order and how large. Source: docs/formats/bump.md, "Entries".
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bump/dtype.h"
#include "bump/header.h"

namespace modelutils::bump {

/// What decides every shape. Elements and rows, never bytes.
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

/// The dimensions that a header states; kv_heads and intermediate are left at 0.
Dimensions dimensions_of(const Header& header);
/// The header for these dimensions, checksum left zero.
Header header_of(const Dimensions& dimensions);

// clang-format off
enum class Role : u8 {
  token_emb, pos_emb,
  ln1_gamma, ln2_gamma, wq, bq, wk, bk, wv, bv, wo, bo, w1, b1, w2, b2,  // for each layer
  final_ln_weight, final_ln_bias,
};
// clang-format on

inline constexpr std::size_t role_count = 18;
inline constexpr std::size_t layer_roles = 14;
/// More layers than any model has; a file that claims more is refused before anything is made of it.
inline constexpr u64 max_layers = 4096;

struct RoleInfo {
  Role role;
  std::string_view name;        ///< "wq"; in full "layer.N.wq"
  bool in_layer;                ///< one for each layer
  bool has_source_type;         ///< a matrix in the source's own type; all others are FP32
  std::string_view sources[2];  ///< GGUF names, behind "blk.N." for in_layer; empty: zeros. w1 and b1 have two
};

const RoleInfo& role_info(Role role);

/// Number of entries = number of dtype codes: 2 + 14 × layers + 2. Precondition: layers <= max_layers.
constexpr u64 entry_count(u64 layers) {
  return 2 + layer_roles * layers + 2;
}

/// The role and layer of entry `index` of `layers` layers (layer 0 for entries outside layers).
std::pair<Role, u32> entry_at(u64 index, u64 layers);
/// "token_emb", "layer.3.wq".
std::string entry_name(Role role, u32 layer);

/// Rows and columns; vectors are one row. Nothing on overflow.
struct Shape {
  u64 rows = 0;
  u64 columns = 0;
};
std::optional<Shape> shape_of(Role role, const Dimensions& dimensions);
/// Bytes of an entry; nothing if its rows are not whole blocks of the dtype, or on overflow.
std::optional<u64> entry_bytes(Role role, Dtype dtype, const Dimensions& dimensions);

/// One entry where it stands in the file.
struct Entry {
  Role role = Role::token_emb;
  u32 layer = 0;
  Dtype dtype = Dtype::fp32;
  u64 offset = 0;  ///< absolute
  u64 size = 0;    ///< bytes

  std::string name() const { return entry_name(role, layer); }
};

/// All entries, one after another from the end of the dtype table on; `dtypes` in payload order, one for each entry.
/// Nothing if an entry has no size (see entry_bytes) or the file would not fit into 63 bits.
std::optional<std::vector<Entry>> lay_out(const Dimensions& dimensions, std::span<const Dtype> dtypes);

/// How many entries of each role have each dtype: enough to know a file's size.
using Census = std::map<std::pair<Role, Dtype>, u64>;
Census census_of(std::span<const Dtype> dtypes, u64 layers);
/// Size of the file in bytes; nothing as for lay_out().
std::optional<u64> file_bytes(const Dimensions& dimensions, const Census& census);

}  // namespace modelutils::bump
