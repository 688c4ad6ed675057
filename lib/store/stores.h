// The stores in which other programs keep models: where they are on this machine, and what their folders mean
// (docs/stores.md). Reads environment variables and small settings files only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils {

enum class StoreKind : u8 { ollama, lm_studio, hub, llama_cpp };

/// The properties of a kind of store; one row of the table.
struct StoreInfo {
  StoreKind kind;
  std::string_view name;    ///< as an argument of `modelutils ls`, and the prefix of model names: "lmstudio"
  std::string_view title;   ///< the program, for messages: "LM Studio"
  std::string_view syntax;  ///< of a model's name: "lmstudio:PUBLISHER/MODEL[/FILE]"
};
const StoreInfo& store_info(StoreKind kind);

/// The layout of a root. llama.cpp has two: that of Hugging Face's cache, and a flat folder.
enum class StoreLayout : u8 { ollama, lm_studio, hub, flat };

struct StoreRoot {
  StoreKind kind;
  StoreLayout layout;
  std::string path;  ///< absolute or as a variable gives it, without '/' at the end; need not exist
};

/// Returns the roots of a kind in the order in which its program looks for them; the first is the one that it would
/// write to. A variable that is set replaces the roots after it, as it does for the program. Ollama's Linux service has
/// its own folder, which counts as well if that service is installed.
std::vector<StoreRoot> store_roots(StoreKind kind);

/// Returns the roots of all kinds. A folder that two programs share is listed once per layout, for the first of them.
std::vector<StoreRoot> all_store_roots();

/// Returns the first line of a small text file without white space at its ends; empty if it cannot be read.
std::string first_line_of(const std::string& path);

// The names of repositories in Hugging Face's layout.

/// "ORG/REPO" → "models--ORG--REPO".
std::string hub_folder_name(std::string_view repository);
/// "models--ORG--REPO" → "ORG/REPO"; empty for other names.
std::string hub_repository_of(std::string_view folder_name);

/// True for a commit: 40 hexadecimal digits.
bool is_commit(std::string_view text);

/// Returns the commit of a repository's folder that the programs use without a revision: that of refs/main, else of
/// another ref, else the newest snapshot. Empty if there is none.
std::string default_commit(const std::string& repository);

}  // namespace modelutils
