// One side of a comparison: what an opened model of any format has to compare, under names that the other side uses.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "forms/tensor_values.h"
#include "listing/listing.h"
#include "model/model.h"

namespace modelutils {

/// How the tensors of a side are called.
enum class Naming : u8 {
  own,   ///< as in the file; of directories without a wrapper's "language_model."
  gguf,  ///< as in the GGUF that mlx2gguf would write, with rows in its order
};

struct ComparedTensor {
  std::string name;
  std::string type;                                       ///< for people: "Q4_K", "4-bit/64", "mxfp4"
  double bits = 0;                                        ///< of a weight, for colours; 0: not known
  std::vector<u64> ne;                                    ///< logical, contiguous dimension first
  u64 bytes = 0;                                          ///< stored, with scales and biases; 0: not known
  u64 offset = 0;                                         ///< in its file; of a GGUF in the data section
  std::string file;                                       ///< its base name, in a model of several files
  std::string problem;                                    ///< why its values cannot be read; empty if they can
  std::function<std::unique_ptr<TensorValues>()> values;  ///< set if they can
};

/// Which keys can be compared with which.
enum class KeyKind : u8 { gguf, directory, bump };

/// Where things are in the files: said only on request.
struct LayoutFact {
  std::string name;
  std::string value;
};

/// Views into what `opened` holds.
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
};

/// What of the other side decides how this one is looked at.
struct ComparisonView {
  Naming naming = Naming::own;
  bool tokenizer = true;  ///< directories: read the tokenizer, as far as GGUF can say it
};

/// Looks at a model. Reads headers, the files next to the weights, and of BUMPWGT3 the biases. What cannot be read of a
/// broken model is left out. Errors: a file vanished meanwhile.
Result<ComparedModel> compared_gguf(std::shared_ptr<const Model> model);
Result<ComparedModel> compared_directory(std::shared_ptr<const Model> model, const ComparisonView& view);
Result<ComparedModel> compared_bump(std::shared_ptr<const Model> model, const ComparisonView& view);
Result<ComparedModel> compared_bump5(std::shared_ptr<const Model> model, const ComparisonView& view);

/// A shape without the ones behind its last dimension.
std::vector<u64> without_trailing_ones(std::span<const u64> ne);

}  // namespace modelutils
