// The result of verifying one path. report/verify_text.h prints it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"

namespace modelutils {

struct ModelIdentity;  // verify/identity/model_identity.h

struct VerifyReport {
  std::string path;         ///< as given
  std::string format;       ///< "gguf", "safetensors", "mlx", "bumpwgt3", "ollama", "cache"; empty if not recognised
  std::string policy = {};  ///< name of the applied policy, or empty
  std::shared_ptr<const ModelIdentity> identity = {};  ///< set if requested and the model could be opened
  std::string checked = {};  ///< the format and the scope of the check: "GGUF v3, 12 tensors, structure and values"
  Findings findings = {};
  u64 errors = 0;  ///< exact, even if `findings` folds repeated ones into a note
  u64 warnings = 0;
  u64 files = 0;       ///< files that belong to the model
  u64 tensors = 0;     ///< tensors that can be read
  u64 bytes_read = 0;  ///< tensor data read for --data, --hash and --check
  u64 bytes = 0;       ///< total size of the model's files, read or not
  double seconds = 0;
  bool is_below = false;                 ///< found below a given directory
  bool is_no_model = false;              ///< a folder that cannot be listed, or a download cache folder
  std::optional<Error> unreadable = {};  ///< the path could not be opened or has no known format: exit 3

  bool is_bad(bool strict) const { return errors != 0 || (strict && warnings != 0); }
};

}  // namespace modelutils
