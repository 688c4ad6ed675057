// Finds the diffusion model that a user names: a file, an index, a pipeline of diffusers, or a component of one.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/image_models.h"
#include "base/byte_reader.h"
#include "base/error.h"
#include "base/log.h"
#include "io/model_folder.h"

namespace modelutils::to_gguf {

/// Where the tensors of an image model are.
struct ImageSource {
  std::string path;                         ///< the file, index or folder with the tensors
  std::string class_name;                   ///< _class_name of the component's config.json; empty if there is none
  std::string config;                       ///< the path of that config.json
  std::vector<std::string> components;      ///< further diffusion models of the pipeline: "transformer_2"
  bool is_certain = true;                   ///< false for a folder without settings, which may have any tensors
  std::shared_ptr<ByteSource> opened = {};  ///< the file, if it is open already: a pipe
};

/// Returns nullopt for language models: folders whose config.json has no _class_name, GGUF files. `opened` is `path` if
/// it can be opened only once (open_once()). Errors: those of reading the settings; "convert-image-model" for a
/// pipeline without a diffusion model; "io-pipe" for a PyTorch checkpoint from a pipe.
Result<std::optional<ImageSource>> find_image_source(const std::string& path, OutsideLinks links,
                                                     std::shared_ptr<ByteSource> opened = {});

/// Returns the folder of the diffusion model in a pipeline of diffusers; other paths as they are. Errors: those of
/// find_image_source().
Result<std::string> without_pipeline(const std::string& path, OutsideLinks links);

/// Recognises the model by the class of diffusers, the names of its tensors, and `architecture` (of --arch; empty if it
/// is not given). Returns an empty layout if the source is not certain to be an image model and is not recognised.
/// Errors: "convert-image-model"; usage for an unknown architecture.
Result<arch::ImageLayout> recognise_image(const ImageSource& source, std::span<const std::string_view> names,
                                          std::string_view architecture);

/// Adds a warning if `recognised`, the architecture of the tensors (nullptr: unknown), differs from `stated`, whose
/// rules apply.
void warn_of_other_rules(const arch::ImageModel* recognised, const arch::ImageModel& stated, FindingLog& remarks);

}  // namespace modelutils::to_gguf
