// The entries of a BUMPWGT3 file: their order and sizes. Source: docs/formats/bump.md, "Entries".
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

}  // namespace modelutils::bump
