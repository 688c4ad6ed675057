// Determines the format of a path from its name, its first bytes and the entries of a directory: a model of any format,
// an adapter of PEFT or mlx-lm, a repository at an address, or a tree of models. No other code decides this.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"

namespace modelutils {

// Recognises directories of PEFT and mlx-lm: an adapter_config.json next to an adapter's weights.

/// The fields of adapter_config.json; empty if absent.
struct PeftAdapter {
  bool is_mlx = false;  ///< mlx-lm's adapter: it has fine_tune_type instead of peft_type
  std::string method;   ///< peft_type: "LORA", "IA3" …; fine_tune_type: "lora", "dora"
  std::optional<u64> rank;
  std::optional<double> alpha;
  std::string base_model;  ///< base_model_name_or_path, model

  /// Returns a description: "PEFT adapter, LORA, rank 8, alpha 16, of org/base", "mlx-lm adapter, lora, rank 8, of
  /// org/base".
  std::string text() const;
};

/// Returns nullopt if the folder has no readable adapter_config.json, or has a config.json, which makes it a model.
std::optional<PeftAdapter> peft_adapter(const ModelFolder& folder);

enum class Format : u8 {
  gguf,
  mlx,          ///< a directory with a config.json: MLX's or Hugging Face's
  safetensors,  ///< a file, an index, or a directory of them without config.json
  pytorch,      ///< a checkpoint, its index, or a directory of them without config.json
  bump,         ///< BUMPWGT3, or an unknown BUMPWGT version, which the rules refuse
  bump4,
  bump5,
  imatrix,  ///< an importance matrix of the format before GGUF (.dat)
};

/// The properties of a format; one row of the table.
struct FormatInfo {
  Format format;
  std::string_view name;       ///< as in JSON: "gguf", "mlx", "safetensors", "bumpwgt3", …
  std::string_view noun;       ///< noun phrase for messages: "a GGUF model"
  std::string_view extension;  ///< extension used by this format alone; empty for directories
};
/// Returns all rows of the table.
std::span<const FormatInfo> all_formats();
const FormatInfo& format_info(Format format);

/// The file that C-Kernel-Engine opens in a directory.
inline constexpr std::string_view bump5_weights_name = "weights.bump";
/// The engine's manifest and map of weights: fixed names next to weights.bump. For other names, the names that
/// `gguf2bump -o NAME.bump` writes.
inline constexpr std::string_view bump5_manifest_name = "weights_manifest.json";
inline constexpr std::string_view bump5_map_name = "weights_manifest.map";

/// The result of probing a path. A file is open and its beginning has been read.
struct PathProbe {
  std::string path;
  OutsideLinks links = OutsideLinks::refuse;  ///< policy for links out of the model's folder
  bool is_directory = false;
  /// Safetensors: the model consists of all shards of the name's set (set by code that walks trees).
  bool is_shard_group = false;
  bool ignore_index = false;     ///< safetensors: a directory is opened as if it had no index
  FolderFile opened;             ///< no file for a directory
  std::string head;              ///< first bytes of a file (at most 4096); empty for a directory
  std::optional<Format> format;  ///< nullopt if the format is unknown

  u64 file_size() const { return opened.file ? opened.file->file_size() : 0; }
};

/// Probes a path. A directory that has weights.bump, weights_manifest.json and no safetensors file stands for its
/// weights.bump. Errors: "io-open" if it cannot be opened or listed; "io-not-regular" if it is neither a regular file
/// nor a directory ("-" is standard input, which cannot be read out of order).
Result<PathProbe> probe_path(const std::string& path, OutsideLinks links = OutsideLinks::refuse);

/// Returns the reason why a path whose `format` is not set is not a model: code "verify-unknown-format".
Error unknown_format(const PathProbe& probe);

// Lists a repository at an address: its GGUF models, and the files beside them.

/// A file, or the files of a split GGUF model.
struct RepositoryEntry {
  std::string name;  ///< path in the repository; for several files, the first one's
  u64 files = 1;
  u64 bytes = 0;  ///< total size of the files
  /// Set if requested: whether the model fits into the available memory (memory::fits_by_size()).
  std::optional<bool> fits = {};
};

struct Repository {
  std::string path;                     ///< as the user gave it
  std::string commit;                   ///< empty if the Hub does not report it
  std::vector<RepositoryEntry> models;  ///< GGUF models, by name
  std::vector<RepositoryEntry> others;  ///< every other file, by name

  /// Returns the address of an entry.
  std::string path_of(const RepositoryEntry& entry) const;
};

/// Lists the repository or folder at an address. Projectors ("mmproj…") and importance matrices are not listed as
/// models. Codes: those of remote_listing(), "remote-missing" (the folder is empty).
Result<Repository> list_repository(const std::string& path);

// Classifies files in a tree of models by their names. Internal.

enum class NameClass : u8 {
  gguf,
  safetensors,
  index,       ///< of safetensors shards
  checkpoint,  ///< pytorch_model*.bin
  bump,
  config,      ///< config.json
  unfinished,  ///< an incomplete download
  other,       ///< text, pictures, programs: never a model
  unknown      ///< the first bytes decide
};

/// Classifies a file by its base name.
NameClass class_of_name(std::string_view base_name);

/// True for folders whose content is never a model: version control, bookkeeping of download caches.
bool is_bookkeeping_folder(std::string_view base_name);

}  // namespace modelutils
