// Which entries a BUMPWGT4 or BUMPWGT5 file of a dense text model has, in which order and how large. Source:
// docs/formats/bump5.md, "Entries".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bump/bump5_header.h"
#include "bump/dtype.h"
#include "bump/layout.h"

namespace modelutils::bump5 {

// clang-format off
enum class Role : u8 {
  token_emb, output_weight,
  vocab_offsets, vocab_strings, vocab_scores, vocab_types, vocab_merges,
  ln1_gamma, ln2_gamma, post_attention_norm, post_ffn_norm,  // from here on for each layer
  wq, bq, q_norm, wk, bk, k_norm, wv, bv, wo, bo, w1, b1, w2, b2,
  final_ln_weight, final_ln_bias,
};
// clang-format on
inline constexpr std::size_t role_count = 27;

/// Which of the optional entries there are: the same in every layer.
struct Features {
  bool untied = false;      ///< output.weight
  bool vocabulary = false;  ///< the five vocab_ entries
  bool post_norms = false;  ///< post_attention_norm and post_ffn_norm
  bool qk_norms = false;    ///< q_norm and k_norm
  bool operator==(const Features&) const = default;
};

/// What an entry consists of, and where its type comes from.
enum class Content : u8 {
  matrix,      ///< of a type that the dtype table has
  vector,      ///< FP32, in the dtype table
  qk_norm,     ///< FP32, not in the dtype table
  vocabulary,  ///< of the type that RoleInfo::word says; not in the dtype table
};

struct RoleInfo {
  Role role;
  std::string_view name;  ///< "wq"; in full "layer.N.wq"
  bool in_layer;          ///< one for each layer
  Content content;
  std::string_view word;        ///< its type in manifest and map; empty for a matrix
  std::string_view sources[2];  ///< GGUF names, behind "blk.N." for in_layer; empty: zeros. w1 and b1 have two
};
const RoleInfo& role_info(Role role);
/// An entry's name without its layer -> role.
std::optional<Role> role_from_name(std::string_view name);

/// A place in the payload.
struct Slot {
  Role role = Role::token_emb;
  u32 layer = 0;
  std::string name() const;
};
/// All places in payload order. Precondition: layers <= max_layers.
std::vector<Slot> slots_of(u64 layers, const Features& features);

/// Number of dtype codes: 4 + untied + layers × (14, or 16 with post norms).
constexpr u64 code_count(u64 layers, const Features& features) {
  return 4 + (features.untied ? 1 : 0) + layers * (features.post_norms ? 16 : 14);
}

/// Rows and columns; vectors are one row. Nothing on overflow.
std::optional<bump::Shape> shape_of(Role role, const Header& header);

/// One entry where it stands in the file.
struct Entry {
  Slot slot;
  bump::Dtype dtype = bump::Dtype::fp32;  ///< of matrices and vectors
  u64 offset = 0;                         ///< absolute
  u64 size = 0;                           ///< bytes

  std::string name() const { return slot.name(); }
  /// The type as manifest and map spell it: "q4_k", "fp32", "i32".
  std::string_view word() const;
  /// The type of the elements as the library knows it; nothing for int4.
  std::optional<TensorType> type() const;
};

/// All entries one after another from the end of the dtype table on; `dtypes`: one for each slot, FP32 for what is no
/// matrix. Nothing if a row is not a whole number of blocks, or the file would be larger than 2^62 bytes.
std::optional<std::vector<Entry>> lay_out(const Header& header, const Features& features,
                                          std::span<const bump::Dtype> dtypes);

/// The dtype table of these entries: the renumbered codes, one for pos_emb (which is not written), none for vocabulary
/// and QK norms.
std::vector<u8> table_of(std::span<const Entry> entries);
/// The other way: for each slot its dtype; nothing if a code is unknown, not 0 for a vector, or their number is wrong.
std::optional<std::vector<bump::Dtype>> dtypes_of(std::span<const u8> codes, u64 layers, const Features& features);

}  // namespace modelutils::bump5
