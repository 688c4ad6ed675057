// A model of any format, opened once: headers, config.json, modules, weights that several tensors make, the files next
// to them. Listings, rules, plans and comparisons work on what is opened here, and open nothing a second time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "formats/bump/bump5_layout.h"
#include "formats/bump/document.h"
#include "formats/gguf/split_set.h"
#include "formats/imatrix/importance.h"
#include "model/catalog.h"
#include "model/format.h"
#include "model/forms/modules.h"
#include "model/safetensors_model.h"

namespace modelutils {

// Weights, with what is needed to decode them.

/// Marks a plane that a weight does not have.
inline constexpr Tensor no_plane;

/// A matrix, stack of matrices or vector whose values can be decoded: one stored tensor, or several. A vector is one
/// row.
struct Weight {
  std::string name;     ///< canonical, with its suffix ("model.layers.0.mlp.up_proj.weight")
  StoredForm form;      ///< settled
  std::vector<u64> ne;  ///< logical, contiguous dimension first
  /// Tensors of the model's catalog; [0] has the codes or values.
  std::array<const Tensor*, max_planes> planes{&no_plane, &no_plane, &no_plane, &no_plane, &no_plane};

  bool is_quantized() const { return !form.is_plain(); }
  bool has_plane(std::size_t number) const { return planes[number] != &no_plane; }
  const Tensor& codes() const { return *planes[0]; }
  /// Elements per row.
  u64 columns() const { return ne.empty() ? 1 : ne.front(); }
  /// The product of the other dimensions; 0 if it overflows.
  u64 rows() const;
  /// Stored size including scales and biases.
  u64 bytes() const;
};

/// The weights that consist of several tensors.
struct Weights {
  std::vector<Weight> list;  ///< in the order of their codes
  std::vector<bool>
      parts;  ///< by index into Catalog::tensors: true for scales, biases and other parts of another tensor's weight
  std::optional<Error> broken;  ///< the first error while settling forms

  /// Returns the weight whose codes are in that tensor of the catalog; nullptr if there is none.
  const Weight* of_codes(const Tensor& tensor) const;
  bool is_part(std::size_t place) const { return place < parts.size() && parts[place]; }
};

/// Returns the canonical name of the weight whose codes are called `codes`: "….weight" for "….qweight".
std::string weight_name(const Module& module, std::string_view codes);

/// Settles the forms of the model's modules, which reads small tensors (row order, zero points). Omits modules that
/// cannot be decoded or read. `catalog` is the catalog of the model's set and must outlive the result.
Weights settled_weights(const SafetensorsModel& model, const Catalog& catalog);

// Reads the config.json next to a BUMPWGT3 file for the values that its header lacks. Source: docs/formats/bump.md.

/// A number that config.json states, and the BUMPWGT3 file's value if the header has the number too.
struct BumpConfigField {
  std::string_view key;
  u64 bump::Dimensions::*value;
};
std::span<const BumpConfigField> bump_config_fields();

/// The values of a config.json; fields that it lacks are empty.
struct BumpConfig {
  bump::Dimensions dimensions;  ///< 0 if not stated; aligned_* are never stated
  bool has_rope_scaling = false;
};
/// Reads the config.json beside the file; nullopt if there is none. An invalid one adds a finding and leaves all values
/// empty.
std::optional<BumpConfig> read_bump_config(const std::string& bump_path, FindingLog& log);

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
  /// Returns a weight's tensors, for reading its rows.
  StoredMatrix stored(const Weight& weight) const;
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
