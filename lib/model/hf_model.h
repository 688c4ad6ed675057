// A directory in MLX's or Hugging Face's format, for conversion or comparison: its family, and every weight that the
// output keeps, under its canonical name. Reads headers, and the small tensors that settle forms.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "base/error.h"
#include "base/log.h"
#include "base/types.h"
#include "formats/hf/config.h"
#include "model/model.h"

namespace modelutils {

// Tensors of a source that the output omits, with the reason.

enum class LeftOutReason : u8 {
  other_part,         ///< vision or audio, which llama.cpp reads from a separate file (mmproj)
  prediction,         ///< layers that predict further tokens
  computed,           ///< inv_freq, causal masks: the runtime computes them
  activation_scales,  ///< limits for rounding activations, which the runtime may ignore
  tied_copy,          ///< a head that copies the embedding
  loader_copy,        ///< a copy that only llama.cpp's loader requires
  in_config,          ///< config.json has the same information
  zero_bias,          ///< a bias of zeros, which GPTQ's writers add to every module
  beside_model,       ///< a part of a file with several models: a VAE, a text encoder
  unused_head,        ///< heads of a training task, poolers without a classifier: Family::left_out
  lost,               ///< part of the model that a GGUF cannot hold: Family::lost_unless_zero
  beside_weights,     ///< not a weight of the model: an optimizer's state
};

/// Returns the reason for reports: "is computed at run time".
std::string_view reason_text(LeftOutReason reason);

struct LeftOut {
  std::string name;  ///< name in the source, not escaped
  LeftOutReason reason = LeftOutReason::computed;
};

/// Returns "NAME (reason)", not escaped.
std::string left_out_text(const LeftOut& tensor);

/// Adds a warning "convert-left-out" for each reason that loses weights. Copies and values that are stated or computed
/// elsewhere are not losses. With `loses_projector` false, neither are vision and audio parts.
void warn_of_losses(const std::vector<LeftOut>& tensors, FindingLog& findings, bool loses_projector = true);

/// What to do with blocks that predict further tokens.
enum class PredictionChoice : u8 {
  by_runtime,  ///< kept if llama.cpp drafts with them
  keep,
  only,  ///< kept without the layers of the trunk
  drop,
};

struct HfModel {
  /// `from` is a directory with a config.
  explicit HfModel(std::shared_ptr<const Model> from);
  /// A model without a config of a language model. `of` must outlive the object.
  HfModel(std::shared_ptr<const Model> from, const arch::Family& of);
  HfModel(const HfModel&) = delete;
  HfModel& operator=(const HfModel&) = delete;

  std::shared_ptr<const Model> model;
  const hf::Config& config;              ///< of `model`
  std::string directory;                 ///< as the user gave it
  const arch::Family* family = nullptr;  ///< never nullptr
  bool is_mlx = false;                   ///< MLX wrote the directory
  std::vector<Weight> matrices;          ///< all weights that are kept, in file order; rows() and columns() are not 0
  std::vector<LeftOut> left_out;         ///< tensors that belong to another file or are derived
  /// Number of blocks that predict further tokens. Their matrices have the names of layers after the last one.
  u64 prediction_blocks = 0;
  /// For a reranker that answers yes or no: the ids of these tokens, whose rows of the output head are its scores.
  /// Empty for other models.
  std::vector<u64> answers;

  const SafetensorsModel& opened() const { return *model->safetensors; }
  StoredPlane plane(const Tensor& tensor) const { return model->catalog().plane_of(tensor); }
};

/// Reads the structure of a directory for conversion or comparison. Precondition: verify's rules found no error, so the
/// shapes agree with the sizes.
/// Errors: "convert-no-config", "convert-peft", "convert-architecture" (unknown or refused, with the reason),
/// "convert-foreign-method" (GPTQ, AWQ, FP8 …), "convert-module" (an unusable quantised module), those of an invalid
/// config.json; "convert-mtp" (prediction blocks are requested, but the family does not support them or the directory
/// has none).
Result<std::unique_ptr<HfModel>> understand_model(std::shared_ptr<const Model> model,
                                                  PredictionChoice prediction = PredictionChoice::by_runtime);

/// True for the tensors that are wanted, by their names in the files.
using WantedName = std::function<bool(std::string_view)>;

/// Reads the part of a directory whose names fulfil the condition, with the files' names instead of canonical ones, for
/// a family that is not the language model's. Errors: those of understand_model() about forms and tensors.
/// Precondition: the directory has a config.json.
Result<std::unique_ptr<HfModel>> understand_part(std::shared_ptr<const Model> model, const arch::Family& family,
                                                 const WantedName& is_wanted);

}  // namespace modelutils
