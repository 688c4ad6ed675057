// verify: checks structure, data, manifests and parity of a model in any known format. Continues after a finding.
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
#include "io/standard_output.h"
#include "verify/policy/policy.h"
#include "verify/signature/check.h"
#include "verify/verify_report.h"

namespace modelutils {

struct VerifyOptions {
  bool data = false;                            ///< read every tensor to find NaN and Inf
  std::optional<HashAlgorithm> hash;            ///< write a manifest
  bool whole_file = false;                      ///< add a line for each file to the manifest
  bool sums = false;                            ///< write the manifest in sha256sum's form, files only
  std::optional<std::string> manifest;          ///< compare with this manifest (--check)
  std::optional<std::string> sha256;            ///< the digest that the single path must have (--sha256)
  std::optional<std::string> published;         ///< compare with the Hub's checksums at this address (--published)
  std::optional<std::string> against;           ///< compare with the model it was converted from
  OutsideLinks links = OutsideLinks::refuse;    ///< accept or refuse symbolic links that leave a model's folder
  unsigned threads = default_threads();         ///< total (--jobs), shared between models and the tensors in one
  bool ignore_index = false;                    ///< open directories as if they had no shard index
  bool together = false;                        ///< compare companion files with the one model among the paths
  bool authentic = false;                       ///< compare files with the checksums in their download cache
  std::vector<std::string> exclude = {};        ///< patterns of files and folders to skip in trees
  std::optional<Policy> policy;                 ///< requirements beyond being valid (--policy)
  std::optional<signature::Request> signature;  ///< check the signature of the single path; its report comes last
  bool identity = false;                  ///< add each model's identity with the SHA-256 of its files to the reports
                                          ///< (--sbom)
  std::optional<std::string> newer_than;  ///< only models with a file newer than this one
  /// Receives the manifest line by line, in file order. Return false to stop.
  std::function<bool(std::string_view line)> manifest_line;
  Progress* progress = nullptr;  ///< shown while data is read
  /// Called with the download size before the data of a remote model is read. Any thread may call it.
  std::function<void(const std::string& path, u64 bytes)> before_download;
};

/// Verifies every path. A directory stands for the models in and below it (model/model_tree.h), or for itself if it has
/// none. The manifest given with --check may cover several models, so all paths form one run; below a directory its
/// names begin with the folders. Several models are verified at once, each by one thread plus idle ones. `report` is
/// called for each in turn, never concurrently, from any thread. Errors: an unreadable manifest ("manifest-…", kind
/// input), wrong combinations (kind usage), an unusable source of --against, "out-is-input" (standard output is one of
/// the inputs), "io-open" (the file of --newer-than).
Status verify_paths(const std::vector<std::string>& paths, const VerifyOptions& options,
                    const std::function<void(const VerifyReport&)>& report);

}  // namespace modelutils
