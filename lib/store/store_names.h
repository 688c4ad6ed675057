// Models by name: resolves ollama:NAME[:TAG], lmstudio:PUBLISHER/MODEL[/FILE], hf:ORG/REPO[@REVISION][/FILE] and
// llama.cpp:NAME to paths (docs/stores.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/stores.h"

namespace modelutils {

/// A name, split at its prefix.
struct StoreName {
  StoreKind kind;
  std::string_view rest;
};
/// Returns nullopt if the text does not begin with a store's prefix. Addresses ("hf://…") are not names.
std::optional<StoreName> store_name(std::string_view text);

/// Returns the path that a name stands for: a file (of a split model, the first), a model's directory, a folder of
/// several models, or one of Ollama's manifests. The path lies in the store, links aside. Errors (of kind input):
/// "store-name" (the name has not the form of its store, or would lead out of it), "store-missing" (with the places
/// where it was looked for).
Result<std::string> resolve_store_name(const std::string& name);

/// Looks for a bare model name, such as "llama3.2" or "Qwen/Qwen3-8B", in all stores. Returns the first match with its
/// prefix ("ollama:llama3.2"), empty if no store has it.
std::string suggested_store_name(const std::string& text);

/// What a reader does with Ollama's manifests.
enum class Manifests : u8 {
  read,     ///< it reads manifests itself
  to_model  ///< it gets the model that the manifest names
};

/// Returns the path of the model that a user names in a store. Any other text is returned unchanged; with `to_model`,
/// a manifest's path becomes the path of its model. All readers, tools and C API, take names through this. Errors:
/// those of resolve_store_name().
Result<std::string> model_path(const std::string& named, Manifests manifests);

/// Returns a clearer error about the path that `named` stands for: that its folder has several models, or that there is
/// no such file, but a model in a store. Returns nullopt if neither applies.
std::optional<Error> clearer_name_error(const Error& error, const std::string& named);

/// Returns the path of the model's blob if `path` is an Ollama manifest. Returns other paths unchanged, as well as a
/// manifest that cannot be read or names no model.
std::string manifest_model(const std::string& path);

/// Returns the path of a tag's manifest below "manifests" with the parts that Ollama adds by itself:
/// "registry.ollama.ai/library/llama3.2/latest". Returns nullopt if the name is not one of Ollama's.
std::optional<std::string> ollama_manifest_path(std::string_view name);

}  // namespace modelutils
