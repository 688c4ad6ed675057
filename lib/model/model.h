// A model of any format, opened once: headers, config.json, modules, the files next to the weights. Listings, rules,
// plans and comparisons use it and open no file a second time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "bump/bump5_parse.h"
#include "bump/document.h"
#include "gguf/split_set.h"
#include "model/catalog.h"
#include "model/format.h"
#include "model/safetensors_model.h"
#include "model/weights.h"
#include "quantize/importance.h"

namespace modelutils {

struct BumpModel {
  std::shared_ptr<RandomAccessFile> file;
  bump::Document document;
};

struct Bump5Model {
  std::shared_ptr<RandomAccessFile> file;
  bump5::Document document;
};

/// An opened model. `format` determines which of the documents is set. Movable but not copyable; references to its
/// tensors and weights stay valid after a move. Const members are thread-safe.
struct Model {
  Model();  ///< creates an empty object, to which a model must be assigned
  explicit Model(PathProbe probe);
  /// For documents opened without open_model(). `path` is as the user gave it.
  Model(gguf::SplitSet set, std::string path);
  explicit Model(SafetensorsModel opened);
  Model(std::shared_ptr<const quantize::ImportanceMatrix> matrix, std::string path);

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  Format format = Format::gguf;
  PathProbe probe;
  std::optional<gguf::SplitSet> gguf;
  std::optional<SafetensorsModel> safetensors;  ///< formats mlx, pytorch and safetensors
  std::optional<BumpModel> bump;
  std::optional<Bump5Model> bump5;  ///< formats bump4 and bump5
  std::shared_ptr<const quantize::ImportanceMatrix> importance;

  const std::string& path() const { return probe.path; }
  /// Returns the directory's config.json; nullptr if there is none or it cannot be read.
  const hf::Config* config() const;
  /// Returns general.architecture for a GGUF; otherwise architectures[0] or model_type of config.json. Empty if
  /// unknown.
  std::string architecture() const;
  /// Returns the readers' findings, without those of the rules.
  FindingLog findings() const;

  /// Returns every tensor. The first call builds the catalog from the documents, which must not change afterwards.
  /// Empty for BUMPWGT, whose entries depend on the files beside it.
  const Catalog& catalog() const;
  /// Returns the weights that consist of several tensors, with their forms settled. The first call reads small tensors.
  const Weights& weights() const;
  /// Returns the weight whose codes are in `tensor`; nullptr for scales, biases, and tensors that are weights by
  /// themselves.
  const Weight* weight_of(const Tensor& tensor) const;
  /// True for scales, biases and other parts of another tensor's weight.
  bool is_part(const Tensor& tensor) const { return weights().is_part(place_of(tensor)); }
  /// Returns the logical shape of a weight, or the tensor's own shape; contiguous dimension first.
  std::span<const u64> ne_of(const Tensor& tensor) const;
  /// Converts a shape to the dimension order of the model's own format.
  std::vector<u64> in_file_order(std::span<const u64> ne) const;
  /// Returns the product of ne_of(); 0 if it overflows.
  u64 elements_of(const Tensor& tensor) const;
  /// Returns "Q4_K" or "BF16"; for a weight of several tensors "affine 4-bit, group 64".
  std::string type_text(const Tensor& tensor) const;
  /// Returns the decoded values of the tensor, or of the weight whose codes it holds. The model must outlive the
  /// result.
  MatrixValues values_of(const Tensor& tensor) const;
  /// Returns the index in the catalog's tensors.
  std::size_t place_of(const Tensor& tensor) const;

  /// Returns the readable tensor with this name in the file; else without a wrapper's "language_model."; else, for
  /// directories, with this GGUF name ("blk.0.attn_q.weight"), and for GGUF files with this Hugging Face name. Returns
  /// nullptr if there is none.
  const Tensor* find(std::string_view name) const;
  /// Returns the tensor's GGUF name if the architecture's table maps it one to one; for GGUF files, the name itself.
  std::optional<std::string> gguf_name(const Tensor& tensor) const;

 private:
  struct OnDemand;
  const OnDemand& names() const;

  std::unique_ptr<OnDemand> on_demand_;
};

/// Opens a probed path whose `format` is set. Plain safetensors get neither config nor modules, which belong to
/// directories of format mlx. Errors: those of opening and parsing. Problems inside the files are findings in the
/// documents.
Result<Model> open_model(PathProbe probe);

/// Opens a model whose container is sound: a GGUF file (with all files of its split set), a safetensors file, an index,
/// or a directory of safetensors files with its config.json. Errors: those of opening and parsing (also of a
/// directory's config.json), and the first container error that the readers found.
Result<Model> open_sound_model(const std::string& path);

}  // namespace modelutils
