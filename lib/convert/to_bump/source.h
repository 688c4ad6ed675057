// The tensors of a GGUF model during planning: looked up, checked, marked as used; the unused ones remain. A Part is
// the recipe for a BUMPWGT entry's bytes, used for conversion and for verify --against. Source: docs/formats/bump.md,
// "What is refused".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "convert/to_bump/from_keys.h"
#include "formats/gguf/split_set.h"
#include "tensor/types.h"

namespace modelutils {

// The source of a BUMPWGT entry's bytes: the recipe used for conversion and for verify --against.

/// A GGUF tensor and its location.
struct LocatedTensor {
  std::string name;
  TensorType type = TensorType::F32;
  std::vector<u64> ne;   ///< without trailing dimensions of 1
  std::size_t file = 0;  ///< index into the set's files
  u64 offset = 0;        ///< absolute offset in that file
  u64 bytes = 0;
};

/// A run of source bytes followed by zeros, repeated: a whole matrix (one run), packed heads (a run per head), padded
/// columns (a run per head of each row), or every second row of a head (a run per row, with a stride).
struct BumpPart {
  enum class Kind : u8 {
    zeros,
    copy,
    convert,  ///< block by block to another type without loss (convert/transfer/encoders.h)
    literal,  ///< bytes in memory, not repeated
  };
  Kind kind = Kind::zeros;
  TensorType type = TensorType::F32;  ///< source type, for convert
  TensorType to = TensorType::F32;    ///< entry type, for convert
  std::size_t file = 0;
  u64 offset = 0;  ///< absolute offset of the first run
  u64 repeat = 1;
  u64 stride = 0;  ///< distance between the starts of runs in the source; 0: contiguous
  u64 run = 0;     ///< source bytes per run
  u64 zeros = 0;   ///< zero bytes after each run
  std::shared_ptr<const std::string> literal = {};
};

/// Returns a whole tensor, not repeated.
inline BumpPart part_of(const LocatedTensor& tensor, BumpPart::Kind kind) {
  BumpPart part;
  part.kind = kind;
  part.type = tensor.type;
  part.to = tensor.type;
  part.file = tensor.file;
  part.offset = tensor.offset;
  part.run = tensor.bytes;
  return part;
}

/// Returns a whole tensor with elements of type `to`; copied if it already has that type.
inline BumpPart part_as(const LocatedTensor& tensor, TensorType to) {
  if (tensor.type == to) return part_of(tensor, BumpPart::Kind::copy);
  BumpPart part = part_of(tensor, BumpPart::Kind::convert);
  part.to = to;
  return part;
}

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
