// Determines the format of a path from its name, its first bytes and the names in a directory. No other code does this.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"

namespace modelutils {

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

}  // namespace modelutils
