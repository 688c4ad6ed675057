// Describes a model for lists, from its header or from the records of its store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/model_tree.h"
#include "store/folder_model.h"

namespace modelutils {

/// A file with weights.
struct StoredFile {
  std::string path;
  u64 bytes = 0;            ///< as its store says, else as it is
  std::string sha256 = {};  ///< if the store's index says it; lower case
};

struct DescribedModel {
  FolderModel line;
  std::string companion;  ///< kind of a file beside a model: "LoRA adapter"; empty for models
  std::vector<StoredFile> files;
  std::optional<Error> broken = {};      ///< the first error that its headers and sizes show
  std::optional<Error> incomplete = {};  ///< a part of it that is missing
};

/// Returns the file that holds the model, if `path` is an Ollama manifest or a blob of a Hugging Face cache; else
/// `path`. Error: "cache-manifest".
Result<std::string> model_file(const std::string& path);

/// Describes a model of a folder, whatever its format, from its headers. Errors: those of opening it.
Result<DescribedModel> describe_model(const TreeEntry& entry);

/// Describes a model of Ollama from its manifest and its config blob; reads the model's header only if they do not say
/// architecture and types. Errors: those of reading the manifest.
Result<DescribedModel> describe_ollama_model(const std::string& path);

}  // namespace modelutils
