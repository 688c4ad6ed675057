// The settings of a directory's vision and audio towers, from config.json and the files about preprocessing, as one
// config.
#pragma once

#include "base/error.h"
#include "formats/hf/config.h"
#include "io/model_folder.h"

namespace modelutils::hf {

/// Returns a config with the members of config.json and
/// - vision_config, audio_config, text_config: those of config.json or of its thinker_config; text_config also under
///   its other names, or else the top level;
/// - preprocessor_config: preprocessor_config.json (with media_proc_cfg's members), then processor_config.json (with
///   image_processor's members), the latter takes precedence for each member. null counts as absent.
///
/// `architecture` is the class of vision_config if it states one, else config.json's; class_of_model() is the latter.
/// Codes: those of json::load_if_present(); "hf-side-file" if a file is not a JSON object.
Result<Config> load_projector_config(const ModelFolder& folder, const Config& config);

/// Returns architectures[0] of config.json itself; empty if there is none.
std::string_view class_of_model(const Config& projector_config);

}  // namespace modelutils::hf
