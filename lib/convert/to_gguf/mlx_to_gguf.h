// Converts an MLX or Hugging Face directory to a GGUF that llama.cpp loads, or an image model to one that ComfyUI-GGUF
// loads. Plans from headers and scales, then streams, checks and renames.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/parallel.h"
#include "convert/merge/merge.h"
#include "convert/transfer/mlx_target.h"
#include "convert/transfer/report.h"
#include "io/model_folder.h"
#include "io/standard_output.h"
#include "model/hf_model.h"
#include "tensor/types.h"

namespace modelutils::to_gguf {

struct MlxToGgufOptions {
  std::string directory;  ///< of an image model: a file, an index, or a folder of diffusers
  /// `directory`, if it can be opened only once and is open already (open_once()).
  std::shared_ptr<ByteSource> opened = {};
  std::string output;  ///< "-" streams to standard output
  RepackOptions repack;
  std::string pre;        ///< --pre
  std::string pre_force;  ///< --pre-force
  std::optional<std::string> name;
  bool no_vocab = false;
  /// Write the projector (vision and audio towers) instead of the language model. Its matrices get `projector_type`; by
  /// default every value stays exact.
  bool projector = false;
  std::optional<TensorType> projector_type;
  /// Also write the projector, to this file.
  std::string with_projector;
  PredictionChoice prediction = PredictionChoice::by_runtime;
  std::optional<bool>
      rerank;  ///< convert as a reranker, or not; without a value as README.md and the folder's name tell
  std::vector<adapter::Wanted> adapters;  ///< to merge, in this order
  std::string image_architecture;         ///< --arch, of an image or video model; empty to recognise it
  bool is_folder = false;                 ///< refuse files, which are image models
  bool is_gguf = false;                   ///< `directory` is a GGUF of an image model, whose tensors get other names
  std::optional<u64> max_dims;            ///< of such a model's tensors: 4 or 5 (the default)
  bool has_fallback = false;              ///< repack.fallback was chosen, and is not the default
  OutsideLinks links = OutsideLinks::refuse;  ///< symbolic links out of the directory
  bool ignore_index = false;                  ///< use the shards that are present instead of the index
  std::optional<u64> split_max_size;          ///< limit on the padded tensor data bytes per file
  bool force = false;
  bool dry_run = false;
  unsigned threads = default_threads();
  /// Called with the finished report before the outputs get their final names. If it fails, no output appears.
  std::function<Status(const TransferReport&)> deliver;
};

/// Converts the directory, or only plans with dry_run. The source is opened once, even for two outputs. Restarts
/// `progress` with the number of bytes to write. On an error no output is left under its final name.
///
/// Errors: everything verify calls an error in the directory (for a projector, in its files); "convert-projector";
/// "convert-…" and "hf-tok-…" (docs/findings.md); those of AtomicOutput; "convert-self-check" if the output breaks one
/// of our rules (a bug).
Result<TransferReport> mlx_to_gguf(const MlxToGgufOptions& options, Progress& progress);

}  // namespace modelutils::to_gguf
