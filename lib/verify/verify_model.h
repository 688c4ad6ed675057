// verify's work on one model: rules, data, manifest, comparison. Internal.
#pragma once

#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>

#include "base/thread_budget.h"
#include "model/format.h"
#include "verify/cache/download_check.h"
#include "verify/manifest/manifest.h"
#include "verify/together_checks.h"
#include "verify/verify.h"
#include "verify/verify_report.h"

namespace modelutils {

/// Something to verify: a path as it was given, or what was found below one.
struct VerifyTarget {
  std::string path;
  std::string folder = {};  ///< below the directory that was given; the manifest's names begin with it
  u64 bytes = 0;            ///< of its files, where they are known
  bool is_below = false;    ///< as in VerifyReport
  bool is_shard_group = false;
  bool is_manifest = false;            ///< of Ollama
  bool is_cache = false;               ///< a folder of a download cache, no model
  bool is_last = false;                ///< what the manifest names and nobody had belongs to its report
  std::optional<Error> problem = {};   ///< no model, but a folder that cannot be listed
  std::string instead_of_models = {};  ///< what a directory without models holds (model/model_tree.h)
};

class ModelVerifier {
 public:
  /// `source`: of --against, looked at already. `whole`: the progress over all models, or nullptr.
  /// `together`: the model that the other paths go with.
  ModelVerifier(const VerifyOptions& options, std::optional<PathProbe> source, ThreadBudget& threads, Progress* whole,
                std::optional<TogetherChecks> together = std::nullopt);

  /// Before the first model.
  void set_manifest(ManifestCheck manifest) { manifest_.emplace(std::move(manifest)); }

  /// May be called by several threads at once unless there is a manifest to write or to compare with. A model that
  /// finds no memory while others are at work is checked once more when they are done, alone.
  VerifyReport verify(const VerifyTarget& target);

  /// What the manifest has and none of several models took, as a report of the manifest's own. After the last model.
  /// `is_alone`: there was no model, so that this is all that is said.
  std::optional<VerifyReport> rest_of_manifest(bool is_alone);

  /// How often the data of every model is read.
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
  std::shared_mutex at_work_;  // exclusive: by the one that needs all memory
};

/// As probe_path(), with what to do about a pipe.
Result<PathProbe> probe_to_verify(const std::string& path, OutsideLinks links = OutsideLinks::refuse);

}  // namespace modelutils
