// Gives finished outputs their final names: all of them, or none.
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/path.h"
#include "base/system.h"
#include "io/atomic_output.h"
#include "io/file_access.h"
#include "io/output_remarks.h"
#include "io/read_files.h"
#include "io/sync_folder.h"

namespace modelutils {

namespace {

tl::unexpected<Error> not_renamed(const std::string& path) {
  return output_error("out-rename", "cannot be renamed into place: " + errno_text(errno), path);
}

}  // namespace

Status AtomicOutput::sync() {
  if (temporary_.empty() || is_synced_) return {};
  MU_TRY(resume());
  if (!like_.empty()) {
    const std::string lost = copy_access(like_, descriptor_);
    if (!lost.empty()) remark_output(like_, "out-access", lost + "; nobody gains access by this");
  }
  if (::fsync(descriptor_) != 0) return output_error("out-sync", "cannot be synced: " + errno_text(errno), path_);
  is_synced_ = true;
  return {};
}

Status AtomicOutput::finish() {
  MU_TRY(sync());
  pause();
  return {};
}

Status AtomicOutput::place_new() {
  const auto appeared = [&]() -> Status {
    return output_error("out-exists", "was created by another program in the meantime; pass --force to replace it",
                        path_);
  };
  if (system::rename(system::RenameMode::no_replace, temporary_, path_)) {
    place_ = Place::appeared;
    return {};
  }
  if (errno == EEXIST) return appeared();
  if (!system::rename_is_unsupported()) return not_renamed(path_);
  // A hard link does not replace an existing file either. If the file system has no hard links, checking first must do.
  struct stat there {};
  if (::link(temporary_.c_str(), path_.c_str()) == 0) {
    ::unlink(temporary_.c_str());
  } else if (errno == EEXIST || ::lstat(path_.c_str(), &there) == 0) {
    return appeared();
  } else if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return not_renamed(path_);
  }
  place_ = Place::appeared;
  return {};
}

Status AtomicOutput::replace_existing() {
  if (system::rename(system::RenameMode::exchange, temporary_, path_)) {
    place_ = Place::exchanged;
    return {};
  }
  return system::rename_is_unsupported() ? replace_by_backup() : not_renamed(path_);
}

// Fallback where names cannot be exchanged. The old file gets a second name first, so that it always has one.
Status AtomicOutput::replace_by_backup() {
  const std::string backup = backup_path();
  const bool is_linked = ::link(path_.c_str(), backup.c_str()) == 0;
  if (!is_linked && ::rename(path_.c_str(), backup.c_str()) != 0) return not_renamed(path_);
  if (::rename(temporary_.c_str(), path_.c_str()) == 0) {
    place_ = Place::backed_up;
    return {};
  }
  const auto failed = not_renamed(path_);
  if (is_linked) {
    ::unlink(backup.c_str());
  } else {
    ::rename(backup.c_str(), path_.c_str());
  }
  return failed;
}

Status AtomicOutput::place() {
  if (temporary_.empty()) return {};
  struct stat there {};
  if (!replace_ || ::lstat(path_.c_str(), &there) != 0) return place_new();
  if (S_ISDIR(there.st_mode))
    return output_error("out-directory", "is a directory now; the output must be a file", path_);
  // Includes files that were opened for reading after the output was created.
  if (was_read(there)) {
    return output_error("out-is-input", "is one of the inputs; choose another name for the output", path_);
  }
  return replace_existing();
}

// Restores the state before place(). After an error, the message names the file that holds the old content.
Status AtomicOutput::take_back() {
  switch (place_) {
    case Place::temporary: return {};
    case Place::appeared:
      if (::unlink(path_.c_str()) != 0) {
        return output_error("out-rename", "is left over: it cannot be removed: " + errno_text(errno), path_);
      }
      temporary_.clear();
      break;
    case Place::exchanged:
      if (!system::rename(system::RenameMode::exchange, temporary_, path_)) {
        const std::string reason = errno_text(errno);
        // The replaced file is the only copy of the old content, so keep it under the temporary name.
        const std::string old = std::exchange(temporary_, {});
        guard_ = TemporaryFileGuard();
        return output_error("out-rename",
                            "was replaced and cannot be restored; its former content is in " + old + ": " + reason,
                            path_);
      }
      break;
    case Place::backed_up:
      if (::rename(backup_path().c_str(), path_.c_str()) != 0) {
        return output_error(
            "out-rename",
            "was replaced and cannot be restored; its former content is in " + backup_path() + ": " + errno_text(errno),
            path_);
      }
      temporary_.clear();
      break;
  }
  place_ = Place::temporary;
  return {};
}

void AtomicOutput::settle() {
  if (place_ == Place::exchanged) ::unlink(temporary_.c_str());
  if (place_ == Place::backed_up) ::unlink(backup_path().c_str());
  temporary_.clear();
  guard_ = TemporaryFileGuard();
}

Status AtomicOutput::commit_all(std::span<AtomicOutput> outputs) {
  std::vector<AtomicOutput*> pointers;
  for (AtomicOutput& output : outputs) pointers.push_back(&output);
  return commit_all(std::span<AtomicOutput* const>(pointers));
}

Status AtomicOutput::commit_all(std::span<AtomicOutput* const> outputs) {
  for (AtomicOutput* output : outputs) MU_TRY(output->sync());
  SignalHold hold;
  Status done;
  for (AtomicOutput* output : outputs) {
    if (done) done = output->place();
  }
  std::optional<std::string> synced;
  for (const AtomicOutput* output : outputs) {
    if (!done || output->temporary_.empty()) continue;
    std::string folder = folder_of(output->path_);
    if (folder == synced) continue;
    done = sync_folder_of(output->path_);
    synced = std::move(folder);
  }
  if (done) {
    for (AtomicOutput* output : outputs) output->settle();
    hold.done();
    return {};
  }
  for (std::size_t i = outputs.size(); i-- > 0;) {
    if (const Status back = outputs[i]->take_back(); !back) {
      done.error().message += fmt::format("; {}: {}", back.error().file, back.error().message);
    }
  }
  return done;
}

}  // namespace modelutils
