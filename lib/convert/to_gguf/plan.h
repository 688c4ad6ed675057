// The plan of an MLX -> GGUF conversion: the GGUF model that it will be, with a recipe and a form for each tensor. It
// is made before any weights are read or written, and everything that can be refused is refused here.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arch/image_models.h"
#include "base/error.h"
#include "convert/to_gguf/forms.h"
#include "convert/to_gguf/mlx_to_gguf.h"
#include "convert/to_gguf/tensor_map.h"
#include "convert/transfer/plan.h"
#include "formats/gguf/write.h"
#include "model/hf_model.h"
#include "model/listing/model_facts.h"
#include "model/model.h"

namespace modelutils::to_gguf {

/// The further parts of a plan for an image or video model.
struct ImagePlan {
  const arch::ImageModel* architecture;
  std::vector<TensorType> kept;     ///< by tensor of the map: its type if no mix changes it
  std::vector<std::string> inputs;  ///< every file that is read
  /// For a pipe: indices into the map's tensors in the order of their data. Otherwise empty: any order.
  std::vector<std::size_t> only_order;
};

struct GgufPlan : Plan {
  std::unique_ptr<HfModel> model;
  TensorMap map;
  std::vector<gguf::OutKey> own_keys;  ///< only for a projector
  std::vector<GgufForm> forms;         ///< one per tensor of the map
  std::optional<ImagePlan> image;      ///< set for an image model
  Model target;           ///< `files`, opened: a tensor in its catalog for each of the map, with zeros for data
  TransferReport report;  ///< without measured errors
};

/// Plans the conversion of a directory, or of the directory of an index. `opened` is the directory if another plan has
/// opened it. Errors: those of mlx_to_gguf() that need no output.
Result<GgufPlan> plan_gguf(const MlxToGgufOptions& options, std::shared_ptr<const Model> opened = {});

/// Plans the projector that `options.with_projector` names, from the directory that the model's plan has opened, and
/// applies every rule to it. Errors: those of plan_gguf() and check_plan(); usage if the model goes to the same file.
Result<GgufPlan> plan_projector_beside(const MlxToGgufOptions& options, std::shared_ptr<const Model> opened);

/// Plans what mlx2gguf would write for a directory with default options, but without a tokenizer: for its sizes and
/// types. Errors: those of plan_gguf().
Result<GgufPlan> plan_without_vocabulary(const std::string& directory);

/// Applies every rule to the target before anything is written. Adds warnings about a projector, which names the
/// sources of its tensors, to the report. Error: "convert-self-check".
Status check_plan(GgufPlan& plan, bool with_vocabulary);

/// Returns the towers of an opened directory as a projector file would state them; empty if it has none, or none that
/// can be converted.
std::vector<TowerFacts> towers_of(const Model& opened);

/// Streams all tensors into `outputs`, one for each of the plan's files, and adds the measured errors to its report.
/// Errors: those of write_planned() and of reading.
Status write_gguf(GgufPlan& plan, std::span<AtomicOutput> outputs, unsigned threads, Progress& progress);

}  // namespace modelutils::to_gguf
