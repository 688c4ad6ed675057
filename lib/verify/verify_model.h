// Verifies one model: rules, data, manifest, comparison. Internal.
#pragma once

#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "model/format.h"
#include "verify/cache/download_check.h"
#include "verify/manifest/manifest.h"
#include "verify/model_checks.h"
#include "verify/verify.h"
#include "verify/verify_report.h"

namespace modelutils {

/// One thing to verify: a path as given, or one found below it.
struct VerifyTarget {
  std::string path;
  std::string folder = {};  ///< relative to the given directory; names in the manifest begin with it
  u64 bytes = 0;            ///< total file size, if known
  bool is_below = false;    ///< as in VerifyReport
  bool is_shard_group = false;
  bool is_manifest = false;            ///< an Ollama manifest
  bool is_cache = false;               ///< a folder of a download cache, not a model
  bool is_last = false;                ///< the last target; its report includes the unclaimed manifest entries
  std::optional<Error> problem = {};   ///< set for a folder that cannot be listed
  std::string instead_of_models = {};  ///< contents of a directory without models (model/model_tree.h)
};

class ModelVerifier {
 public:
  /// `source`: the probed source of --against. `whole`: progress over all models, or nullptr. `together`: the model
  /// that the other paths belong to.
  ModelVerifier(const VerifyOptions& options, std::optional<PathProbe> source, ThreadBudget& threads, Progress* whole,
                std::optional<TogetherChecks> together = std::nullopt);

  /// Call before the first model.
  void set_manifest(ManifestCheck manifest) { manifest_.emplace(std::move(manifest)); }

  /// Thread-safe unless a manifest is written or compared. A model that runs out of memory while others are being
  /// verified is verified again, alone, after they have finished.
  VerifyReport verify(const VerifyTarget& target);

  /// Call after the last of several models. Returns the manifest entries that no model claimed as a report about the
  /// manifest. `is_alone`: there was no model, so this is the only report.
  std::optional<VerifyReport> rest_of_manifest(bool is_alone);

  /// Returns the number of times that each model's data is read.
  u64 passes() const;

 private:
  class Run;

  const VerifyOptions& options_;
  const std::optional<PathProbe> source_;
  std::optional<ManifestCheck> manifest_;
  ThreadBudget& threads_;
  Progress* whole_;
  DigestMemo digests_;
  std::optional<TogetherChecks> together_;
  std::shared_mutex at_work_;  // locked exclusively by a model that needs all memory
};

/// Like probe_path(); the error for a pipe says what to do instead.
Result<PathProbe> probe_to_verify(const std::string& path, OutsideLinks links = OutsideLinks::refuse);

}  // namespace modelutils
