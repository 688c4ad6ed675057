#include "store/link.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "base/os/files.h"
#include "base/os/sharing.h"
#include "base/path.h"
#include "io/atomic_directory.h"
#include "io/interrupt.h"
#include "io/model_folder.h"
#include "io/output_place.h"

namespace modelutils {

namespace {

constexpr unsigned file_mode = 0666;

// True if the name leads to the file already, or to one with the same digest.
bool leads_to(const LinkPlan& plan, const LinkFile& file) {
  const auto there = os::status(file.name);
  const auto wanted = os::status(file.from);
  if (!there || !wanted) return false;
  return there->is_same_file(*wanted) || (plan.names_are_digests && there->is_file() && there->size == wanted->size);
}

tl::unexpected<Error> taken(const std::string& name) {
  return output_error("out-exists", "exists already; a link replaces nothing: remove it, or choose another name", name);
}

// The names that one run created: removed again unless keep() is called.
class CreatedNames {
 public:
  CreatedNames() = default;
  CreatedNames(const CreatedNames&) = delete;
  CreatedNames& operator=(const CreatedNames&) = delete;
  ~CreatedNames() { remove(); }

  void remove() {
    for (auto name = names_.rbegin(); name != names_.rend(); ++name) os::remove_file(*name);
    keep();
  }

  void add(const std::string& name) {
    names_.push_back(name);
    guards_.emplace_back(name);
  }
  void keep() {
    names_.clear();
    guards_.clear();
  }

 private:
  std::vector<std::string> names_;
  std::deque<TemporaryFileGuard> guards_;
};

bool make_one(LinkWay way, const std::string& from, const std::string& to) {
  switch (way) {
    case LinkWay::reflink: return os::clone(from, to);
    case LinkWay::hard: return os::link(from, to);
    case LinkWay::symlink: return os::symbolic_link(from, to);
  }
  return false;
}

class Linker {
 public:
  explicit Linker(std::optional<LinkWay> way) : way_(way) {}
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;
  ~Linker() {
    names_.remove();
    while (!folders_.empty()) folders_.pop_back();  // inner ones first
  }

  Result<std::vector<MadeLink>> run(const LinkPlan& plan) {
    for (const std::string& path : plan.folders) MU_TRY(folders_.emplace_back().create(path));
    for (const LinkFile& file : plan.files) MU_TRY(link(plan, file));
    if (!plan.reference.empty()) MU_TRY(write_reference(plan.reference, plan.reference_text));
    for (const std::string& path : plan.folders) {
      if (!os::sync_folder(path)) return output_error("out-sync", "cannot be synced: " + errno_text(errno), path);
    }
    const SignalHold hold;  // from here on, everything stays
    names_.keep();
    for (NewFolder& folder : folders_) folder.keep();
    return std::move(made_);
  }

 private:
  Status link(const LinkPlan& plan, const LinkFile& file) {
    if (leads_to(plan, file)) {
      made_.push_back({file.from, file.name, LinkWay::hard, true});
      return {};
    }
    // A relative link would be relative to its own folder; a link to a link would break with the one between.
    const auto resolved = os::resolve(file.from);
    const std::string from = resolved ? *resolved : normal_path(file.from);
    int reason = 0;
    for (const LinkWay way : {LinkWay::reflink, LinkWay::hard, LinkWay::symlink}) {
      if (way_ && *way_ != way) continue;
      const SignalHold hold;  // the name must not exist without its guard
      if (make_one(way, from, file.name)) {
        names_.add(file.name);
        made_.push_back({file.from, file.name, way, false});
        return {};
      }
      reason = errno;
      if (reason == EEXIST) return taken(file.name);
    }
    return output_error("link-failed", failure_text(file.from, reason), file.name);
  }

  std::string failure_text(const std::string& from, int reason) const {
    std::string text =
        fmt::format("cannot be made a {} of '{}': {}", way_ ? std::string(link_way_name(*way_)) : std::string("link"),
                    from, errno_text(reason));
    if (!way_ || *way_ == LinkWay::symlink) return text;
    if (reason == EXDEV) return text + "; the two are on different file systems: --how symlink works";
    // On macOS, ENOTSUP and EOPNOTSUPP differ.
    const bool is_unsupported =
        reason == EOPNOTSUPP || reason == ENOTSUP || reason == ENOTTY || reason == EINVAL || reason == ENOSYS;
    if (is_unsupported) return text + "; this file system has none: try --how hard or --how symlink";
    return text + "; try --how symlink";
  }

  Status write_reference(const std::string& path, const std::string& text) {
    int descriptor = -1;
    {
      const SignalHold hold;
      descriptor = os::create(path, file_mode);
      if (descriptor < 0 && errno == EEXIST) return taken(path);
      if (descriptor < 0) return output_error("out-open", "cannot be created: " + errno_text(errno), path);
      names_.add(path);
    }
    const bool is_written =
        os::write(descriptor, text.data(), text.size()) == static_cast<i64>(text.size()) && os::sync(descriptor);
    const int reason = errno;
    os::close(descriptor);
    return is_written ? Status{} : output_error("out-write", "cannot be written: " + errno_text(reason), path);
  }

  const std::optional<LinkWay> way_;
  std::deque<NewFolder> folders_;  // destroyed after the names in them
  CreatedNames names_;
  std::vector<MadeLink> made_;
};

// The links that are not there yet. The reference counts as there if all links are.
Result<std::vector<MadeLink>> planned(const LinkPlan& plan) {
  std::vector<MadeLink> links;
  bool is_all_there = true;
  for (const LinkFile& file : plan.files) {
    const bool was_there = leads_to(plan, file);
    if (!was_there && os::link_status(file.name)) return taken(file.name);
    is_all_there = is_all_there && was_there;
    links.push_back({file.from, file.name, LinkWay::hard, was_there});
  }
  if (!is_all_there && !plan.reference.empty() && os::link_status(plan.reference)) return taken(plan.reference);
  return links;
}

}  // namespace

std::string_view link_way_name(LinkWay way) {
  switch (way) {
    case LinkWay::reflink: return "reflink";
    case LinkWay::hard: return "hard link";
    case LinkWay::symlink: break;
  }
  return "symbolic link";
}

Result<std::vector<MadeLink>> check_links(const LinkPlan& plan) {
  return planned(plan);
}

Result<std::vector<MadeLink>> make_links(const LinkPlan& plan, std::optional<LinkWay> way) {
  MU_ASSIGN(std::vector<MadeLink> links, planned(plan));
  if (std::ranges::all_of(links, &MadeLink::was_there)) return links;
  return Linker(way).run(plan);
}

}  // namespace modelutils
