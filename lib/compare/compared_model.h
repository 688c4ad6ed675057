// One side of a comparison: an opened model of any format, under names that both sides use. Adapters compare the
// products of their pairs; a tensor may be a part of an entry of a BUMPWGT file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/bump/document.h"
#include "model/catalog.h"
#include "model/forms/modules.h"
#include "model/listing/listing.h"
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

// A tensor that is a part of an entry of a BUMPWGT file: heads without their padding, gate or up out of both.

// Of every `of` neighbours only the first `keep` are kept.
struct Padding {
  u64 keep = 1;
  u64 of = 1;
};

// The part of an entry that is a tensor: rows from `first_row`, and columns of each row.
struct Excerpt {
  u64 first_row = 0;
  u64 rows = 0;
  Padding row_padding;
  u64 first_column = 0;
  u64 columns = 0;
  Padding column_padding;
};

/// Makes `tensor` that part of `stored`, which has a known type: shape, values, and a problem where the part would cut
/// through blocks. The catalog must outlive the values.
void set_excerpt(const Catalog& catalog, const Tensor& stored, const Excerpt& excerpt, ComparedTensor& tensor,
                 KeptTexts& kept);

/// An entry as a tensor: whole (no excerpt), or that part of it. `word`: its type where the table of types does not
/// have it. The catalog must outlive the values.
ComparedTensor compared_entry(const Catalog& catalog, const Tensor& stored, std::string name, std::string_view word,
                              const Excerpt* excerpt, KeptTexts& kept);

/// What a header says of the model; 0 is "not said".
void set_facts(const bump::Dimensions& dimensions, ModelFacts& facts);

/// True if these bytes of a file are all zero.
Result<bool> is_all_zero(const ByteSource& file, u64 offset, u64 size);

// Adapters as sides of a comparison: compares the products of their pairs instead of the factors.

/// True for a LoRA adapter: a GGUF file, or a directory of PEFT or mlx-lm.
bool is_adapter(const Model& model);

/// Replaces an adapter's factors by their products scale × B·A: one tensor per pair, named after the adapted module or
/// tensor, with its shape ({in, out, experts}) and the rank as its type. Other tensors stay. `model` must outlive the
/// side. Errors: those of model/adapter/adapter.h; reading.
Status take_products(const Model& model, ComparedModel& side);

}  // namespace modelutils
