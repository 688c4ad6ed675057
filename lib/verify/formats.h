// The formats that verify knows: how a path is recognised, and which rules are then applied. One table (formats.cc); a
// new format is one more line there.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/model_folder.h"
#include "model/tensor_catalog.h"
#include "verify/finding_log.h"
#include "verify/packed_check.h"

namespace modelutils {

struct Manifest;

/// What can be seen of a path without reading more than its beginning.
struct PathProbe {
  std::string path;
  bool is_directory = false;
  std::string head;  ///< first bytes of a file (at most 4096); empty for a directory
  u64 file_size = 0;
  OutsideLinks links = OutsideLinks::refuse;  ///< of the model's folder

  /// Does the file begin with these bytes?
  bool begins_with(std::string_view bytes) const { return std::string_view(head).starts_with(bytes); }
  bool name_ends_with(std::string_view suffix) const { return std::string_view(path).ends_with(suffix); }
  /// Is there anything of this name in the directory (is_present())?
  bool has(std::string_view name) const;
};

/// What the rules of one format say of one model.
struct CheckedModel {
  FindingLog findings;
  std::string format_text;  ///< for people: "GGUF v3", "MLX"
  Catalog catalog;          ///< tensors that can be read; --data, --hash and --check work on it. Empty if nothing can.
  std::vector<PackedWeight> packed = {};  ///< MLX: what --data needs to know of weights, scales and biases
};

/// One format. `check` gets a path that `recognises` accepted: whatever is wrong with it from there on is a finding, an
/// Error only if nothing at all can be said (the file vanished).
struct FormatRules {
  std::string_view format;  ///< as in the JSON report: "gguf", "safetensors", "mlx", "bumpwgt3"
  std::string_view noun;    ///< one such model, as messages say it: "a GGUF model"
  bool (*recognises)(const PathProbe& probe);
  Result<CheckedModel> (*check)(const PathProbe& probe);
  /// Compares what a manifest records beyond checksums, before those are compared; may be nullptr.
  void (*check_manifest)(const PathProbe& probe, const Manifest& manifest, CheckedModel& model) = nullptr;
  std::string_view extension = {};  ///< that the names of such files have, and no other format's; empty for directories
  bool has_checksum = false;        ///< of its own, which `check` compares
};

/// All formats, the more specific ones first.
std::span<const FormatRules> all_formats();

/// Compares a converted model with what it came from (verify --against), tensor by tensor.
struct ParityRules {
  std::string_view converted;  ///< format of the model that is verified
  std::string_view source;     ///< format of SOURCE
  Result<FindingLog> (*compare)(const CheckedModel& converted, const std::string& converted_path,
                                const std::string& source_path);
};

/// All pairs that can be compared.
std::span<const ParityRules> all_parities();

/// Looks at a path. Errors: "io-open" for what cannot be opened or listed, "io-not-regular" for what is neither a
/// regular file nor a directory ("-" is standard input, which cannot be read out of order either).
Result<PathProbe> probe_path(const std::string& path, OutsideLinks links = OutsideLinks::refuse);

/// The row for the path, or nullptr.
const FormatRules* format_of(const PathProbe& probe);

}  // namespace modelutils
