// One side of a comparison: an opened model of any format, with its tensors under names that both sides use. Adapters
// compare the products of their pairs; a tensor may be a part of an entry of a BUMPWGT file.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/image_models.h"
#include "base/error.h"
#include "model/catalog.h"
#include "model/forms/modules.h"
#include "model/forms/stored_form.h"
#include "model/listing/listing.h"
#include "model/model.h"

namespace modelutils {

/// Source of the names of a side's tensors.
enum class Naming : u8 {
  own,   ///< as in the file; of directories without a wrapper's "language_model."
  gguf,  ///< as in the GGUF that mlx2gguf would write, with rows in its order
};

/// The tensors of one side, with the names, row order and shapes that both sides use: those of the model, of the GGUF
/// planned from it, or those from which a file's entries were made. A tensor's type, position and size are those of the
/// stored data, including scales and biases; the type is nullopt unless the data has a single plain type.
class ComparedTensors {
 public:
  ComparedTensors() = default;
  ComparedTensors(const ComparedTensors&) = delete;
  ComparedTensors& operator=(const ComparedTensors&) = delete;
  virtual ~ComparedTensors() = default;

  std::span<const Tensor> list() const { return list_; }
  std::size_t place_of(const Tensor& tensor) const { return static_cast<std::size_t>(&tensor - list_.data()); }

  /// Returns the form of the stored values; opaque if it is unknown or if there are none.
  virtual StoredForm form(const Tensor& tensor) const;
  /// Returns the type as displayed text: "Q4_K", "4-bit/64", "mxfp4".
  virtual std::string type_text(const Tensor& tensor) const;
  /// Returns the reason why the values cannot be read; empty if they can.
  virtual std::string_view problem(const Tensor& tensor) const { return problem_text(tensor.unreadable); }
  /// Returns the file, if there are several, and the offset: "model-00001-of-00002.gguf:4096".
  virtual std::string place_text(const Tensor& tensor) const;
  /// Returns the values of a tensor whose problem() is empty. This object must outlive them.
  virtual std::unique_ptr<TensorValues> values(const Tensor& tensor) const = 0;

 protected:
  std::span<const Tensor> list_;  // set by the derived class, which owns or borrows the tensors
};

/// The kind of keys; only keys of one kind can be compared.
enum class KeyKind : u8 { gguf, directory, bump };

/// A fact about the layout of the files. Reported only on request.
struct LayoutFact {
  std::string name;
  std::string value;
};

/// One side of a comparison. Keys and facts are views into data owned by `opened`.
struct ComparedModel {
  std::string path;
  std::string kind;  ///< "GGUF", "MLX model, quantised", "BUMPWGT3"
  ModelFacts facts;
  KeyKind key_kind = KeyKind::gguf;
  std::vector<ListedKey> keys;       ///< without the keys in `tokenizer` and split.*
  std::vector<ListedKey> tokenizer;  ///< as GGUF keys
  bool has_tokenizer = false;        ///< the model has a tokenizer, and it can be compared
  std::shared_ptr<const ComparedTensors> tensors;
  std::vector<LayoutFact> layout;
  Naming naming = Naming::own;       ///< may differ from the requested one
  std::vector<std::string> remarks;  ///< parts that are not compared, with reasons; raw text
  std::vector<Error> broken;         ///< errors, other than container errors, that kept something from being listed
  std::shared_ptr<const void> opened;
};

/// Facts about the other side that determine how this side is opened.
struct ComparisonView {
  Naming naming = Naming::own;
  bool tokenizer = true;  ///< directories: read the tokenizer, as far as GGUF keys can express it
  bool layout = false;    ///< report locations in the files
  bool apart = false;     ///< GGUFs: list the parts of fused tensors separately, as directories store them
  bool image = false;     ///< both are image models: list the published model's names and shapes
};

/// Returns how the tensors of an image or video model are named; nullopt for other models.
std::optional<arch::ImageLayout> image_layout_of(const Model& model);

/// Prepares a model for comparison. Reads headers, the files beside the weights, and for BUMPWGT3 the biases. Skips
/// unreadable parts of a broken model. Errors: a file has vanished since the model was opened.
Result<ComparedModel> compared_gguf(std::shared_ptr<const Model> model, const ComparisonView& view);
Result<ComparedModel> compared_directory(std::shared_ptr<const Model> model, const ComparisonView& view);
Result<ComparedModel> compared_bump(std::shared_ptr<const Model> model, const ComparisonView& view);
Result<ComparedModel> compared_bump5(std::shared_ptr<const Model> model, const ComparisonView& view);

// Adapters as sides of a comparison: compares the products of their pairs instead of the factors.

/// True for a LoRA adapter: a GGUF file, or a directory of PEFT or mlx-lm.
bool is_adapter(const Model& model);

/// Replaces an adapter's factors by their products scale × B·A: one tensor per pair, named after the adapted module or
/// tensor. Its shape is {in, out, experts}, its type shows the rank. Other tensors are unchanged. `model` must outlive
/// the side. Errors: those of model/adapter/adapter.h; reading.
Status take_products(const Model& model, ComparedModel& side);

}  // namespace modelutils
