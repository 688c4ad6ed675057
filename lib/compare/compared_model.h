// One side of a comparison: an opened model of any format, under names that both sides use.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "forms/tensor_values.h"
#include "listing/listing.h"
#include "model/catalog.h"
#include "model/model.h"

namespace modelutils {

/// The names of a side's tensors.
enum class Naming : u8 {
  own,   ///< as in the file; of directories without a wrapper's "language_model."
  gguf,  ///< as in the GGUF that mlx2gguf would write, with rows in its order
};

/// Views into an opened model, or into what was kept for it: there may be hundreds of thousands.
struct ComparedTensor {
  std::string_view name;
  std::string_view type;                                  ///< for people: "Q4_K", "4-bit/64", "mxfp4"
  double bits = 0;                                        ///< of a weight, for colours; 0: not known
  std::span<const u64> ne;                                ///< logical, contiguous dimension first
  u64 bytes = 0;                                          ///< stored, with scales and biases; 0: not known
  u64 offset = 0;                                         ///< in its file; of a GGUF in the data section
  std::string_view file;                                  ///< its base name, in a model of several files
  std::string_view problem;                               ///< why its values cannot be read; empty if they can
  std::function<std::unique_ptr<TensorValues>()> values;  ///< set if they can
};

/// The kind of keys; only keys of one kind can be compared.
enum class KeyKind : u8 { gguf, directory, bump };

/// Where things are in the files: said only on request.
struct LayoutFact {
  std::string name;
  std::string value;
};

/// Views into what `opened` and `kept` hold.
struct ComparedModel {
  std::string path;
  std::string kind;  ///< "GGUF", "MLX model, quantised", "BUMPWGT3"
  ModelFacts facts;
  KeyKind key_kind = KeyKind::gguf;
  std::vector<ListedKey> keys;       ///< without those of `tokenizer`, and of split.*
  std::vector<ListedKey> tokenizer;  ///< as GGUF keys
  bool has_tokenizer = false;        ///< there is one, and it can be compared
  std::vector<ComparedTensor> tensors;
  std::vector<LayoutFact> layout;
  Naming naming = Naming::own;       ///< what became of the one that was asked for
  std::vector<std::string> remarks;  ///< what is not compared, and why; raw text
  std::vector<Error> broken;         ///< why something of it could not be listed, other than its container's defects
  std::shared_ptr<const void> opened;
  std::shared_ptr<KeptTexts> kept = std::make_shared<KeptTexts>();
};

/// Facts about the other side that determine how this side is opened.
struct ComparisonView {
  Naming naming = Naming::own;
  bool tokenizer = true;  ///< directories: read the tokenizer, as far as GGUF can say it
  bool layout = false;    ///< say where things are
  bool apart = false;     ///< GGUFs: parts of fused tensors one by one, as directories have them
};

/// Prepares a model for comparison. Reads headers, the files beside the weights, and for BUMPWGT3 the biases. Skips
/// unreadable parts of a broken model. Errors: a file vanished meanwhile.
Result<ComparedModel> compared_gguf(std::shared_ptr<const Model> model, const ComparisonView& view);
Result<ComparedModel> compared_directory(std::shared_ptr<const Model> model, const ComparisonView& view);
Result<ComparedModel> compared_bump(std::shared_ptr<const Model> model, const ComparisonView& view);
Result<ComparedModel> compared_bump5(std::shared_ptr<const Model> model, const ComparisonView& view);

}  // namespace modelutils
