#include "verify/verify.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/os/files.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/to_gguf/image_source.h"
#include "io/remote_address.h"
#include "io/standard_output.h"
#include "model/download_record.h"
#include "model/model_tree.h"
#include "rules/formats.h"
#include "verify/manifest/manifest.h"
#include "verify/verify_model.h"

namespace modelutils {

namespace {

// True for a directory that can be listed and entered. Without these permissions a walk would find nothing.
bool is_open_directory(const std::string& path) {
  return is_remote_folder(path) || (os::is_folder(path) && os::may_enter(path));
}

Result<i64> time_of(const std::string& path) {
  const auto there = os::status(path);
  if (!there) return input_error("io-open", "cannot be examined: " + errno_text(errno), {}, {}, path);
  return there->modified;
}

// The files named in a checksum list, used when no path is given: as in sha256sum -c, only these are verified.
class ListedFiles {
 public:
  explicit ListedFiles(const Manifest& list) {
    names_.reserve(list.entries.size());
    for (std::size_t i = 0; i < list.entries.size(); ++i) {
      std::string_view name = list.entries[i].name();
      while (name.starts_with("./")) name.remove_prefix(2);
      // A manifest without file names covers any file present.
      if (name.empty()) has_nameless_ = true;
      names_.push_back(name);
    }
    std::ranges::sort(names_);
    // Names are relative to the list's folder or, as for sha256sum -c, to the current one.
    const std::string own = folder_of(list.path);
    folder_ = own.empty() || (!is_any_in(own) && is_any_in(".")) ? "." : own;
  }

  const std::string& folder() const { return folder_; }

  bool are_all_named() const { return !has_nameless_; }
  /// True if the list has this file or a file below this folder. "NAME:TENSOR" counts as NAME.
  bool hold(const std::string& path) const {
    if (has_nameless_ || path == folder_) return true;
    std::string_view name = path;
    if (name.starts_with(folder_)) name.remove_prefix(folder_.size());
    while (name.starts_with('/')) name.remove_prefix(1);
    for (const std::string& spelling : {std::string(name), normal_path(path)}) {
      if (std::ranges::binary_search(names_, spelling)) return true;
      for (const char behind : {'/', ':'}) {
        const auto first = std::ranges::lower_bound(names_, spelling + behind);
        if (first != names_.end() && first->starts_with(spelling + behind)) return true;
      }
    }
    return false;
  }

 private:
  bool is_any_in(const std::string& folder) const {
    return std::ranges::any_of(names_, [&](std::string_view name) {
      return os::status(path_in(folder, name)) || os::status(path_in(folder, name.substr(0, name.rfind(':'))));
    });
  }

  std::string folder_;
  std::vector<std::string_view> names_;  // views into the manifest, sorted
  bool has_nameless_ = false;
};

// The targets of the command line in order. If `listed` is set, only the files in that list.
class Targets {
 public:
  Targets(const std::vector<std::string>& paths, TreeOptions tree, const std::optional<ListedFiles>& listed)
      : paths_(paths), tree_(std::move(tree)), listed_(listed ? &*listed : nullptr) {}

  /// Calls `take` with every target; the last one is marked. Stops if `take` returns false.
  void for_each(const std::function<bool(VerifyTarget)>& take) {
    take_ = &take;
    for (const std::string& path : paths_) {
      if (is_open_directory(path)) {
        walk(path);
      } else if (!is_left_out(path)) {
        tell({.path = path});
      }
    }
    if (!held_) return;
    held_->is_last = true;
    (void)take(std::move(*held_));
  }

 private:
  bool is_left_out(const std::string& path) const {
    if (!tree_.newer_than) return false;
    const Result<i64> time = time_of(path);
    return time && *time <= *tree_.newer_than;
  }

  void walk(const std::string& root) {
    bool any = false;  // a model was found, or the root itself could not be listed
    const TreeRest rest = walk_models(root, tree_, [&](TreeEntry entry) {
      any = any || (entry.problem ? entry.path == root : !entry.is_cache);
      const bool is_below = entry.path != root;
      return tell({.path = std::move(entry.path),
                   .folder = std::move(entry.folder),
                   .bytes = entry.bytes,
                   .is_below = is_below,
                   .is_shard_group = entry.is_shard_group,
                   .is_manifest = entry.is_manifest,
                   .is_cache = entry.is_cache,
                   .problem = std::move(entry.problem)});
    });
    // If the list names files, it reports the missing ones itself.
    if (any || rest.left_out > 0 || (listed_ != nullptr && listed_->are_all_named())) return;
    tell({.path = root, .instead_of_models = rest_text(rest)});
  }

  // Holds each target back until the next one arrives, so that the last target can be marked.
  bool tell(VerifyTarget target) {
    if (listed_ != nullptr && !listed_->hold(target.path)) return !stopped_;
    if (held_) stopped_ = stopped_ || !(*take_)(std::move(*held_));
    held_ = std::move(target);
    return !stopped_;
  }

  const std::vector<std::string>& paths_;
  TreeOptions tree_;
  const ListedFiles* listed_;
  const std::function<bool(VerifyTarget)>* take_ = nullptr;
  std::optional<VerifyTarget> held_;
  bool stopped_ = false;
};

Result<TreeOptions> tree_options(const VerifyOptions& options) {
  TreeOptions tree{options.links, options.exclude, options.authentic, {}};
  if (options.newer_than) {
    MU_ASSIGN(tree.newer_than, time_of(*options.newer_than));
  }
  return tree;
}

// Opens everything that a path stands for.
void open_all(const std::string& path, const TreeOptions& tree) {
  Targets({path}, tree, std::nullopt).for_each([](const VerifyTarget& target) {
    try {
      auto probe = probe_path(target.path);
      if (!probe || !probe->format) return true;
      if (const auto model = open_model(std::move(*probe))) (void)rules_of(model->format).check(*model, 1);
    } catch (const std::bad_alloc&) {  // its files were compared on opening; its report covers the rest
    }
    return standard_output_is_no_input().has_value();
  });
}

}  // namespace

Status verify_paths(const std::vector<std::string>& given, const VerifyOptions& options,
                    const std::function<void(const VerifyReport&)>& report) {
  std::vector<std::string> paths = given;
  if (paths.empty() && (!options.manifest || *options.manifest == "-")) return usage_error("PATH is missing");
  if (options.whole_file && !options.hash) return usage_error("--whole-file needs --hash");
  if (options.sums && (options.hash != HashAlgorithm::sha256 || !options.whole_file)) {
    return usage_error("--format sums needs --hash sha256 and --whole-file");
  }
  if (options.published && options.manifest) return usage_error("--published and --check cannot be combined");
  if (options.sha256) {
    if (options.published || options.manifest)
      return usage_error("--sha256 cannot be combined with a list of checksums");
    if (paths.size() != 1 || is_open_directory(paths[0])) return usage_error("--sha256 needs exactly one PATH, a file");
  }
  if (options.threads == 0) return usage_error("--jobs must be at least 1");
  if (options.signature) {
    if (paths.size() != 1) return usage_error("--signature takes one PATH: the folder or the file that was signed");
    if (options.signature->key.has_value() == options.signature->certificate.has_value()) {
      return usage_error("--signature needs --key or --certificate: a signature proves nothing without a trusted key");
    }
  }
  MU_ASSIGN(const TreeOptions tree, tree_options(options));
  std::optional<Manifest> manifest;
  std::optional<ListedFiles> listed;
  if (options.manifest) {
    MU_ASSIGN(manifest, load_manifest(*options.manifest));
    if (given.empty()) paths.push_back(listed.emplace(*manifest).folder());
  }
  if (options.sha256) {
    MU_ASSIGN(manifest, manifest_of_digest(*options.sha256, paths[0]));
  }
  if (options.published) {
    MU_ASSIGN(manifest, load_published(*options.published, paths));
  }
  std::optional<PathProbe> source;
  if (options.against) {
    MU_ASSIGN(const std::string against, to_gguf::without_pipeline(*options.against, OutsideLinks::warn));
    MU_ASSIGN(source, probe_to_verify(against, OutsideLinks::warn));
    if (!source->format) return tl::make_unexpected(unknown_format(*source));
  }
  std::optional<TogetherChecks> together;
  if (options.together) {
    MU_ASSIGN(together, TogetherChecks::open(paths, options.links));
  }
  // Standard output must not be one of the inputs: output for one path is written before the next is opened.
  std::vector<std::string> read = paths;
  if (options.against) read.push_back(*options.against);
  if (options.signature) read.push_back(options.signature->bundle);
  MU_TRY(compare_inputs(read, [&](const std::string& path) { open_all(path, tree); }));

  const bool has_tree = std::ranges::any_of(paths, is_open_directory);
  const bool is_many = has_tree || paths.size() > 1;
  // Manifests are written and compared in the order of the models.
  const bool one_by_one = options.hash || manifest || options.against;
  ThreadBudget budget(options.threads);
  ModelVerifier verifier(options, std::move(source), budget, is_many ? options.progress : nullptr, std::move(together));
  // The walk is one target ahead, so the first target is known to be the only one if it is also the last.
  const auto begin_manifest = [&](bool is_single) {
    if (!manifest) return;
    verifier.set_manifest({std::move(*manifest), is_single, paths,
                           options.links == OutsideLinks::follow || options.sha256.has_value(),
                           given.empty() || options.sha256.has_value()});
    manifest.reset();
  };
  WorkQueue<VerifyTarget, VerifyReport> queue(
      one_by_one ? 1 : options.threads, [&](VerifyTarget target) { return verifier.verify(target); },
      [&](const VerifyReport& done) {
        const bool says_nothing = done.is_no_model && done.findings.empty();                      // a cache without
                                                                                                  // findings
        const bool is_only_signed = options.signature && done.unreadable && done.format.empty();  // a path of unknown
                                                                                                  // format
        if (!says_nothing && !is_only_signed) report(done);
      });
  bool is_any = false;  // a model
  Targets(paths, tree, listed).for_each([&](VerifyTarget target) {
    is_any = true;
    begin_manifest(target.is_last);
    if (is_many && options.progress != nullptr) options.progress->expect(target.bytes * verifier.passes());
    queue.push(std::move(target));
    return true;
  });
  queue.finish();
  begin_manifest(false);  // there was no target
  if (const auto rest = verifier.rest_of_manifest(given.empty() && !is_any)) report(*rest);
  if (options.signature) report(signature::check(*options.signature, paths[0], options.threads, options.progress));
  return {};
}

}  // namespace modelutils
