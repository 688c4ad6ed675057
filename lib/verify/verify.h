// verify: structure, data, manifests and parity of a model in any known format. Never stops at the first finding.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "io/hash.h"
#include "io/model_folder.h"
#include "io/progress.h"
#include "verify/policy/policy.h"
#include "verify/signature/check.h"
#include "verify/verify_report.h"

namespace modelutils {

struct VerifyOptions {
  bool data = false;                            ///< read every tensor: NaN and Inf
  std::optional<HashAlgorithm> hash;            ///< make a manifest
  bool whole_file = false;                      ///< with a line for each file
  bool sums = false;                            ///< the manifest in the form of sha256sum, of files alone
  std::optional<std::string> manifest;          ///< compare with this manifest (--check)
  std::optional<std::string> published;         ///< compare with what the Hub says of this address (--published)
  std::optional<std::string> against;           ///< compare with the model it was converted from
  OutsideLinks links = OutsideLinks::refuse;    ///< symbolic links out of a model's folder
  unsigned threads = default_threads();         ///< all together (--jobs): models at once, and tensors in one
  bool ignore_index = false;                    ///< directories are opened as if they had no index of shards
  bool together = false;                        ///< compare what goes with a model with the one model of the paths
  bool authentic = false;                       ///< compare files with what their download cache says of them
  std::vector<std::string> exclude = {};        ///< patterns of files and folders that are not looked at in trees
  std::optional<Policy> policy;                 ///< what models must satisfy beyond being sound (--policy)
  std::optional<signature::Request> signature;  ///< a signature of the one path; its report comes last
  bool identity = false;                  ///< reports say what each model is, with the SHA-256 of its files (--sbom)
  std::optional<std::string> newer_than;  ///< only models of which a file is younger than this one
  bool as_finished = false;               ///< reports of a tree come as each is done, not in the order of the names
  /// Gets the manifest, line by line, in file order. Return false to stop.
  std::function<bool(std::string_view line)> manifest_line;
  Progress* progress = nullptr;  ///< shown while data is read
  /// Told before the data of a model at an address is read: how many bytes cross the network. By any thread.
  std::function<void(const std::string& path, u64 bytes)> before_download;
};

/// Verifies every path; a directory stands for the models in and below it (model/model_tree.h), and one without any for
/// itself. The manifest given with --check may be about several of them together, so they are one run; below a
/// directory its names begin with the folders. Several models are verified at once, each by one thread and those that
/// are free. `report` is called for each in turn, never twice at once, by any thread. Errors: a manifest that cannot be
/// read ("manifest-…", kind input), wrong combinations (kind usage), a source of --against that cannot be used,
/// "out-is-input" (standard output goes to one), "io-open" (the file of --newer-than).
Status verify_paths(const std::vector<std::string>& paths, const VerifyOptions& options,
                    const std::function<void(const VerifyReport&)>& report);

}  // namespace modelutils
