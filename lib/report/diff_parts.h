// Pieces of a difference that text and Markdown have in common.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "report/style.h"

namespace modelutils {

/// The beginning of a key's value, strings in quotes. Errors: those of reading.
Result<std::string> key_value_text(const ListedKey& key);

/// What changed in a key: "15 → 7", a word diff of long strings, "3 of 128,256 elements differ: 128,000–128,002; …" of
/// arrays; with the types where these differ. Errors: those of reading.
Result<std::string> key_change_text(const KeyChange& change, const Style& style);

/// The text of the token that a key such as "tokenizer.ggml.eos_token_id" names, in quotes with a space before it;
/// empty for other keys, and where the side has no such token. Errors: those of reading.
Result<std::string> named_token_text(const ComparedModel& side, const ListedKey& key);

/// Tensors of several layers that say the same, as one: "blk.{0–31}.attn_q.bias".
struct TensorGroup {
  std::string name;  ///< printable
  std::string text;  ///< what is said of each
  u64 tensors = 0;
};

/// Groups tensors whose names differ in the layer only, and whose text is the same. In the order of the first of each.
class TensorGroups {
 public:
  void add(std::string_view name, std::string text);
  std::vector<TensorGroup> groups() const;

 private:
  struct Group {
    std::string prefix, role, text;  // without layers all of the name is the role
    std::vector<u32> layers;
  };
  std::map<std::string, std::size_t> places_;
  std::vector<Group> groups_;
};

/// "Q4_K, 4096 × 32000"
std::string tensor_text(const ComparedTensor& tensor);

/// "0.52 %", "3.1e-05 %"; "infinite"
std::string rms_text(double rms);

/// "2 keys changed, 1 tensor added, 3 tensors with other values": one phrase for each kind of difference.
std::vector<std::string> difference_phrases(const ModelDiff& diff);

/// Everything that is known of the values of the tensors of one role ("attn_q.weight") or one layer ("blk.3").
struct ValueTotal {
  std::string name;  ///< raw
  u64 tensors = 0;
  u64 equal = 0;  ///< of them equal in every value
  ValueSums sums;
};
std::vector<ValueTotal> totals_by_role(const ModelDiff& diff);
std::vector<ValueTotal> totals_by_layer(const ModelDiff& diff);

/// Tensors whose values differ, those with the largest errors first.
std::vector<TensorChange> worst_first(const ModelDiff& diff);

/// What a measurement found: relative RMS, largest error, cosine, values that are not finite on one side, worst rows.
std::string measurement_text(const Measurement& measured);

}  // namespace modelutils
