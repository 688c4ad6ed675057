// One side of a comparison: an opened model of any format, with its tensors under names that both sides use. Adapters
// compare the products of their pairs; a tensor may be a part of an entry of a BUMPWGT file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/catalog.h"
#include "model/forms/modules.h"
#include "model/forms/stored_form.h"
#include "model/listing/listing.h"
#include "model/model.h"

namespace modelutils {

/// The names of a side's tensors.
enum class Naming : u8 {
  own,   ///< as in the file; of directories without a wrapper's "language_model."
  gguf,  ///< as in the GGUF that mlx2gguf would write, with rows in its order
};

/// The tensors of a side with the names, order of rows and shapes that both sides use: those of the model, those of the
/// GGUF that is planned from them, or those that a file's entries were made of. A tensor's type, place and size are
/// those of what stores its values (with scales and biases); the type is nullopt if no single plain type does.
class ComparedTensors {
 public:
  ComparedTensors() = default;
  ComparedTensors(const ComparedTensors&) = delete;
  ComparedTensors& operator=(const ComparedTensors&) = delete;
  virtual ~ComparedTensors() = default;

  std::span<const Tensor> list() const { return list_; }
  std::size_t place_of(const Tensor& tensor) const { return static_cast<std::size_t>(&tensor - list_.data()); }

  /// Returns the form of the stored values; opaque if it is unknown, or if there are none.
  virtual StoredForm form(const Tensor& tensor) const;
  /// Returns a text for people: "Q4_K", "4-bit/64", "mxfp4".
  virtual std::string type_text(const Tensor& tensor) const;
  /// Returns the reason why the values cannot be read; empty if they can.
  virtual std::string_view problem(const Tensor& tensor) const { return problem_text(tensor.unreadable); }
  /// Returns the file, if there are several, and the offset: "model-00001-of-00002.gguf:4096".
  virtual std::string place_text(const Tensor& tensor) const;
  /// Returns the values of a tensor without a problem. This object must outlive them.
  virtual std::unique_ptr<TensorValues> values(const Tensor& tensor) const = 0;

 protected:
  std::span<const Tensor> list_;  // set by the derived class, which owns or borrows the tensors
};

/// The kind of keys; only keys of one kind can be compared.
enum class KeyKind : u8 { gguf, directory, bump };

/// Where things are in the files: said only on request.
struct LayoutFact {
  std::string name;
  std::string value;
};

/// Keys and facts are views into what `opened` holds.
struct ComparedModel {
  std::string path;
  std::string kind;  ///< "GGUF", "MLX model, quantised", "BUMPWGT3"
  ModelFacts facts;
  KeyKind key_kind = KeyKind::gguf;
  std::vector<ListedKey> keys;       ///< without those of `tokenizer`, and of split.*
  std::vector<ListedKey> tokenizer;  ///< as GGUF keys
  bool has_tokenizer = false;        ///< there is one, and it can be compared
  std::shared_ptr<const ComparedTensors> tensors;
  std::vector<LayoutFact> layout;
  Naming naming = Naming::own;       ///< what became of the one that was asked for
  std::vector<std::string> remarks;  ///< what is not compared, and why; raw text
  std::vector<Error> broken;         ///< why something of it could not be listed, other than its container's defects
  std::shared_ptr<const void> opened;
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

// Adapters as sides of a comparison: compares the products of their pairs instead of the factors.

/// True for a LoRA adapter: a GGUF file, or a directory of PEFT or mlx-lm.
bool is_adapter(const Model& model);

/// Replaces an adapter's factors by their products scale × B·A: one tensor per pair, named after the adapted module or
/// tensor, with its shape ({in, out, experts}) and the rank as its type. Other tensors stay. `model` must outlive the
/// side. Errors: those of model/adapter/adapter.h; reading.
Status take_products(const Model& model, ComparedModel& side);

}  // namespace modelutils
