// The tensors of a GGUF model during planning: looked up, checked, marked as used; the unused ones remain. Source:
// docs/formats/bump.md, "What is refused".
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

/// A tensor that the format has no place for.
struct UnplacedTensor {
  LocatedTensor tensor;
  std::string reason;
  bool dropped = false;  ///< the user accepted the loss
};

/// The part of a plan common to all BUMPWGT versions.
struct BumpPlan {
  BumpHyperParameters hyper;  ///< dimensions complete
  u64 file_size = 0;
  std::vector<UnplacedTensor> unplaced;
  Refusals refusals;  ///< every objection found from the headers, including unplaced tensors that are not dropped
};

/// Tracks which tensors have been used. Adds refusals ("gguf2bump-tensor", "gguf2bump-missing", "gguf2bump-shape") to
/// the given list. All arguments must outlive it.
class BumpSource {
 public:
  BumpSource(const gguf::SplitSet& set, const BumpRequest& request, Refusals& refusals);

  /// Returns the tensor without marking it as used; nullptr if it is missing.
  const LocatedTensor* find(std::string_view name) const;
  /// Returns the tensor and marks it as used. Returns nullptr if it is missing (a refusal if `required`) or has another
  /// shape (always a refusal). Trailing dimensions of 1 are ignored.
  const LocatedTensor* take(const std::string& name, std::vector<u64> ne, bool required);
  /// True if the user has accepted the tensor's loss.
  bool is_dropped(std::string_view name) const;
  /// Adds a tensor to `unplaced`, and a refusal ("gguf2bump-no-place") unless its loss is accepted.
  void set_aside(const LocatedTensor& tensor, std::string reason, std::vector<UnplacedTensor>& unplaced) const;
  void refuse(std::string code, std::string_view tensor, std::string message) const;
  /// True if the tensor has a float type, as a norm or bias must; otherwise adds a refusal ("gguf2bump-norm-type") and
  /// returns false.
  bool is_plain_vector(const LocatedTensor& tensor) const;

  /// Returns all tensors in file order.
  const std::vector<LocatedTensor>& tensors() const { return tensors_; }
  /// Returns the tensors not yet used.
  std::vector<const LocatedTensor*> left_over() const;

 private:
  void locate(const gguf::SplitSet& set);
  bool is_excused(std::string_view name) const;

  const BumpRequest& request_;
  Refusals& refusals_;
  std::vector<LocatedTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> by_name_;  // keys point into the documents' names
  std::vector<bool> taken_;
};

/// Returns "blk.7.attn_q.weight" for 7 and "attn_q.weight".
std::string block_tensor_name(u64 layer, std::string_view suffix);
/// True if the tensor belongs to a mixture of experts.
bool is_expert_tensor(std::string_view name);
/// Returns the reason why a tensor has no place in a file of version 3 or 5.
std::string reason_without_place(std::string_view name, u32 version);

}  // namespace modelutils
