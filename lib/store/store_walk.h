// Finds the models in stores and folders and gives each a name that every reader accepts. Reads names of files and
// Ollama's folders only, opens no model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model_tree.h"
#include "store/stores.h"

namespace modelutils {

/// A model in a store or folder.
struct StoredEntry {
  std::string name;             ///< usable as an operand: "ollama:llama3.2:latest"; the path for a model in a folder
  std::string_view store = {};  ///< StoreInfo::name; empty for a model in a folder
  TreeEntry entry = {};
  bool is_unfinished = false;  ///< a repository of which only unfinished downloads are there; `entry` is its folder
};

/// A place that was not read, or something worth knowing about it.
struct StoreNote {
  std::string path;
  std::string text;
};

struct StoreWalk {
  std::vector<StoredEntry> entries;  ///< by root, then by path
  std::vector<StoreNote> notes;
};

/// Adds the models of one root. A root that does not exist adds nothing, one that may not be entered a note.
void walk_store(const StoreRoot& root, StoreWalk& walk);

/// Adds the models in and below a folder, or the model `path`. Error: "io-open".
Status walk_folder(const std::string& path, StoreWalk& walk);

/// Returns the model names of all stores, sorted, for completions and hints.
std::vector<std::string> store_model_names();

/// Returns "NAMESPACE/MODEL:TAG" for a manifest below the folder "manifests", without the parts that Ollama adds by
/// itself. `below` is "HOST/NAMESPACE/MODEL/TAG".
std::string ollama_display_name(std::string_view below);

/// True if the name of a file says that it accompanies a model: a projector or an importance matrix.
bool is_companion_name(std::string_view path);

/// Returns the model of a folder if there is exactly one, companions aside; else the folder. A path that is no folder
/// is returned as it is.
std::string only_model_in(const std::string& folder);

}  // namespace modelutils
