// The tensors of a GGUF model while entries of a BUMPWGT file are made of them: found by name, checked, taken, and what
// is left at the end. Source: docs/formats/bump.md, "What is refused".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gguf/split_set.h"
#include "to_bump/hyper_parameters.h"
#include "to_bump/part.h"
#include "to_bump/refusals.h"

namespace modelutils {

/// Some tensor that the format has no place for.
struct UnplacedTensor {
  LocatedTensor tensor;
  std::string reason;
  bool dropped = false;  ///< the user accepted the loss
};

/// What the plan of a BUMPWGT file of any version says.
struct BumpPlan {
  BumpHyperParameters hyper;  ///< dimensions complete
  u64 file_size = 0;
  std::vector<UnplacedTensor> unplaced;
  Refusals refusals;  ///< everything that the headers alone forbid; unplaced tensors that are not dropped included
};

/// Which of the tensors have found a place. Refuses ("gguf2bump-tensor", "gguf2bump-missing", "gguf2bump-shape") in the
/// list that it was given. Everything given must outlive it.
class BumpSource {
 public:
  BumpSource(const gguf::SplitSet& set, const BumpRequest& request, Refusals& refusals);

  const LocatedTensor* find(std::string_view name) const;
  /// The tensor, checked for its shape (trailing ones do not count) and taken; nullptr if it is not there or has
  /// another shape, with a refusal for another shape and, if it is required, for a missing one.
  const LocatedTensor* take(const std::string& name, std::vector<u64> ne, bool required);
  /// Has the user accepted its loss?
  bool is_dropped(std::string_view name) const;
  /// Lists a tensor as unplaced, with a refusal ("gguf2bump-no-place") unless its loss is accepted.
  void set_aside(const LocatedTensor& tensor, std::string reason, std::vector<UnplacedTensor>& unplaced) const;
  void refuse(std::string code, std::string_view tensor, std::string message) const;
  /// A norm or bias must be of a float type: refuses ("gguf2bump-norm-type") and returns false otherwise.
  bool is_plain_vector(const LocatedTensor& tensor) const;

  /// All tensors in the order of the files.
  const std::vector<LocatedTensor>& tensors() const { return tensors_; }
  /// Those that nobody took.
  std::vector<const LocatedTensor*> left_over() const;

 private:
  void locate(const gguf::SplitSet& set);
  bool is_excused(std::string_view name) const;

  const BumpRequest& request_;
  Refusals& refusals_;
  std::vector<LocatedTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  // views of the documents' names
  std::vector<bool> taken_;
};

/// "blk.7.attn_q.weight" for 7 and "attn_q.weight".
std::string block_tensor_name(u64 layer, std::string_view suffix);
/// Does it belong to a mixture of experts?
bool is_expert_tensor(std::string_view name);
/// Why a tensor has no place in a file of that version (3 or 5).
std::string reason_without_place(std::string_view name, u32 version);

}  // namespace modelutils
