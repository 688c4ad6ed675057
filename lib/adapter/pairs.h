// The pairs of an adapter as pairs of a GGUF: under its names, rows and columns in its order, experts stacked.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "adapter/adapter.h"
#include "arch/names.h"
#include "arch/row_view.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/finding_log.h"

namespace modelutils::adapter {

/// What is known of the model that an adapter is for.
struct Base {
  const arch::Family* family = nullptr;
  arch::Sizes sizes;
  bool is_tied = false;                      ///< it has no output head of its own
  std::map<std::string, TensorType> scaled;  ///< tensors with a factor of their values next to them (".scale")
};

/// What one module gives to one slice (expert) of a tensor: product B·A of `rank` columns and rows from `rank_offset`
/// on.
struct Block {
  std::size_t module = 0;  ///< index into Adapter::modules
  std::size_t use = 0;     ///< index into Pair::uses
  u64 slice = 0;           ///< of the tensor
  u64 source_slice = 0;    ///< of the module's stack
  u64 rank_offset = 0;
};

/// How the rows and columns of a module become those of a tensor.
struct RowUse {
  arch::RowView view;       ///< its rows (slices × out), or with `by_element` its elements
  u64 first_row = 0;        ///< of the tensor (slices × rows), where the view begins
  bool by_element = false;  ///< `rows` and `columns` say what the view does, if it is a product of the two
  bool is_product = true;
  std::vector<u64> rows;     ///< by_element: the module's row of each of the tensor's
  std::vector<u64> columns;  ///< and its column
  float factor = 1;          ///< that the tensor's values have on top
};

/// A tensor that an adapter brings whole, in the place of the base's.
struct Saved {
  std::size_t extra = 0;  ///< index into Adapter::extras
  std::string name;       ///< of the base's tensor
  RowUse use;             ///< of rows; of vectors of elements
};

/// One pair of a GGUF.
struct Pair {
  std::string name;     ///< of the base's tensor: "blk.0.attn_q.weight"
  std::string row;      ///< of the family: "attn_q"
  std::vector<u64> ne;  ///< of the base's tensor
  u64 rank = 0;         ///< that holds all blocks of any slice
  std::vector<RowUse> uses;
  std::vector<Block> blocks;

  u64 columns() const { return ne[0]; }
  u64 rows() const { return ne.size() > 1 ? ne[1] : 1; }
  u64 slices() const { return ne.size() > 2 ? ne[2] : 1; }
  bool is_embedding() const { return row == "token_embd"; }
};

struct MappedAdapter {
  std::vector<Pair> pairs;  ///< in the order of the GGUF's tensors
  std::vector<Saved> saved;
};

/// All pairs. `for_merging`: also those that no pair of a GGUF can say, and what replaces tensors. Errors of
/// kind input: "adapter-target" (a module that the model does not have), "adapter-pair" (it has, but with other sizes;
/// experts whose layout cannot be told), "adapter-merge" (only merging can carry it), "adapter-tied"
/// (PEFT's change of an embedding that is the output head as well). With `problems` those of single
/// modules go there, and the others are mapped.
Result<MappedAdapter> map_pairs(Adapter& adapter, const Base& base, bool for_merging, FindingLog* problems = nullptr);

/// "adapter-merge" for the first pair that llama.cpp would not apply as merging would, because its tensor has a factor
/// next to it.
Status check_scaled(const Adapter& adapter, const Base& base, const std::vector<Pair>& pairs);

/// The factors of a pair in float32: `a` [slices, rank, columns], `b` [slices, rows, rank], without scales. `scales`:
/// one for each block, put into `b`. Errors: reading.
struct PairValues {
  std::vector<float> a, b;
};
Result<PairValues> read_pair(const Adapter& adapter, const Pair& pair, const std::vector<double>& scales);

}  // namespace modelutils::adapter
