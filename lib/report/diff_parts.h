// Pieces of a difference that the text and Markdown forms share.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compare/compare.h"
#include "report/table.h"

namespace modelutils {

// Word-by-word differences between two texts.

/// A run of words that is in both texts or only in one of them. A view into the text.
struct WordRun {
  enum class Kind : u8 { same, removed, added };
  Kind kind = Kind::same;
  std::string_view text;
};

/// Returns the shortest edit that turns `a` into `b`, in order; a removed run comes before the added run that replaces
/// it. Words are runs of letters and digits, runs of blanks, and every other character. If the texts differ in more
/// than a few thousand words, everything between the first and the last difference is one change.
std::vector<WordRun> word_diff(std::string_view a, std::string_view b);

/// Like word_diff(), with whole lines, line feeds included, instead of words.
std::vector<WordRun> line_diff(std::string_view a, std::string_view b);

/// True if the change should be shown line by line, as for a chat template: at least one of the two texts has several
/// lines.
bool is_of_lines(const KeyChange& change);

/// Returns word_diff() as one line for people, in the manner of git: "… some [-old-]{+new+} words …", or in colours
/// without the brackets. Escaped. Shows only the words next to a change and only the beginning of long changes.
std::string word_diff_text(std::string_view a, std::string_view b, const Style& style);

/// Returns the beginning of a key's value, strings in quotes. Errors: those of reading.
Result<std::string> key_value_text(const ListedKey& key);

/// Describes a key's change: "15 → 7", a word diff of long strings, "3 of 128,256 elements differ: 128,000–128,002; …"
/// for arrays; with the types if these differ. Errors: those of reading.
Result<std::string> key_change_text(const KeyChange& change, const Style& style);

/// Returns the text of the token that a key such as "tokenizer.ggml.eos_token_id" names, in quotes with a space before
/// it; empty for other keys and for sides without such a token. Errors: those of reading.
Result<std::string> named_token_text(const ComparedModel& side, const ListedKey& key);

/// Tensors of several layers with the same description, merged: "blk.{0–31}.attn_q.bias".
struct TensorGroup {
  std::string name;  ///< printable
  std::string text;  ///< the description that all of them share
  u64 tensors = 0;
};

/// Groups tensors whose names differ only in the layer and whose text is the same. Groups are in the order of their
/// first tensors.
class TensorGroups {
 public:
  void add(std::string_view name, std::string text);
  std::vector<TensorGroup> groups() const;

 private:
  struct Group {
    std::string prefix, role, text;  // for names without a layer, the role is the whole name
    std::vector<u32> layers;
  };
  std::map<std::string, std::size_t> places_;
  std::vector<Group> groups_;
};

/// Returns for example "Q4_K, 4096 × 32000".
std::string tensor_text(const ComparedModel& side, const Tensor& tensor);

/// Returns one phrase per kind of difference: "2 keys changed, 1 tensor added, 3 tensors with different values".
std::vector<std::string> difference_phrases(const ModelDiff& diff);

/// The combined value comparison of all tensors with one role ("attn_q.weight") or in one layer ("blk.3").
struct ValueTotal {
  std::string name;  ///< raw
  u64 tensors = 0;
  u64 equal = 0;  ///< tensors that are equal in every value
  ValueSums sums;
};
/// Combine the measured tensors by role, or by layer.
std::vector<ValueTotal> totals_by_role(const ModelDiff& diff);
std::vector<ValueTotal> totals_by_layer(const ModelDiff& diff);

/// Returns the tensors whose values differ, largest error first.
std::vector<TensorChange> worst_first(const ModelDiff& diff);

/// Describes a measurement: relative RMS, largest error, cosine, values that are not finite on one side, worst rows.
std::string measurement_text(const Measurement& measured);

}  // namespace modelutils
