// What was found out about one path, for whoever prints it (report/verify_report.h).
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
  std::string policy = {};  ///< the name of the policy that was applied, or empty
  std::shared_ptr<const ModelIdentity> identity = {};  ///< if it was asked for and the model could be opened
  std::string checked = {};  ///< what it is and what was looked at: "GGUF v3, 12 tensors, structure and values"
  Findings findings = {};
  u64 errors = 0;  ///< exact, even where `findings` folds many of a kind into a note
  u64 warnings = 0;
  u64 files = 0;  ///< of the model, with so many tensors that can be read
  u64 tensors = 0;
  u64 bytes_read = 0;  ///< of tensor data, for --data, --hash and --check
  u64 bytes = 0;       ///< of the model's files, whether they were read or not
  double seconds = 0;
  bool is_below = false;                 ///< found in a directory that was given, which is not itself this model
  bool is_no_model = false;              ///< a folder that cannot be listed, or one of a download cache
  std::optional<Error> unreadable = {};  ///< the path could not be opened, or is of no known format: exit 3

  bool is_bad(bool strict) const { return errors != 0 || (strict && warnings != 0); }
};

}  // namespace modelutils
