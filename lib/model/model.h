// A model of any format, opened once: headers, config.json, modules, the files next to the weights. Listings, rules,
// plans and comparisons work on what is opened here, and open nothing a second time.
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

/// One of the documents is there, as `format` says. A model can be moved, but not copied; references to its tensors and
/// weights stay valid. Const members may be called by several threads.
struct Model {
  Model();  ///< has nothing, until a model is assigned
  explicit Model(PathProbe probe);
  /// What was opened without open_model(). `path`: as the user gave it.
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
  const hf::Config* config() const;
  /// GGUF: general.architecture; else architectures[0] of config.json, or its model_type; empty if unknown.
  std::string architecture() const;
  /// What the readers found; nothing of the rules.
  FindingLog findings() const;

  /// Every tensor; made from the documents by the first call, after which these must not change. Of BUMPWGT there are
  /// none: which entries there are, the files beside it help to decide.
  const Catalog& catalog() const;
  /// Weights of several tensors, with their forms settled: the first call reads small tensors.
  const Weights& weights() const;
  /// The weight whose codes are in `tensor`; nullptr for scales, biases, and tensors that are their own weight.
  const Weight* weight_of(const Tensor& tensor) const;
  /// True for scales, biases … of another tensor's weight.
  bool is_part(const Tensor& tensor) const { return weights().is_part(place_of(tensor)); }
  /// The logical shape of a weight, or the tensor's own; contiguous dimension first.
  std::span<const u64> ne_of(const Tensor& tensor) const;
  /// A shape in the dimension order of the model's own format.
  std::vector<u64> in_file_order(std::span<const u64> ne) const;
  /// Product of ne_of(); 0 if it overflows.
  u64 elements_of(const Tensor& tensor) const;
  /// "Q4_K", "BF16"; of a weight of several tensors "affine 4-bit, group 64".
  std::string type_text(const Tensor& tensor) const;
  /// Its decoded values, or those of the weight whose codes it holds. The model must outlive them.
  MatrixValues values_of(const Tensor& tensor) const;
  /// Index into the catalog's tensors.
  std::size_t place_of(const Tensor& tensor) const;

  /// The readable tensor of that name: as in the file; else without a wrapper's "language_model."; else, for
  /// directories, by its GGUF name ("blk.0.attn_q.weight"), and for GGUF files by its Hugging Face name. nullptr if
  /// there is none.
  const Tensor* find(std::string_view name) const;
  /// The tensor's GGUF name, if the architecture's table maps it one to one (GGUF files: the name itself).
  std::optional<std::string> gguf_name(const Tensor& tensor) const;

 private:
  struct OnDemand;
  const OnDemand& names() const;

  std::unique_ptr<OnDemand> on_demand_;
};

/// Opens what was recognised (probe.format is there). Plain safetensors get neither config nor modules, which belong to
/// a directory of format mlx. Errors: those of opening and parsing; what is wrong inside is in the documents' findings.
Result<Model> open_model(PathProbe probe);

/// Opens a GGUF file (with all files of its split set), a safetensors file, an index, or a directory of safetensors
/// files, with the config.json beside it, if its container is sound. Errors: those of opening and parsing (of a
/// directory's config.json too), and the first error of the container that the readers found.
Result<Model> open_sound_model(const std::string& path);

}  // namespace modelutils
