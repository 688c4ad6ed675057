#include "io/atomic_output.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "base/os/process.h"
#include "base/path.h"
#include "base/text.h"
#include "io/atomic_directory.h"
#include "io/output_place.h"
#include "io/standard_output.h"

namespace modelutils {

namespace {

constexpr std::string_view stdout_name = "standard output";

Status write_fully(int descriptor, Bytes bytes, std::optional<u64> offset, const std::string& path) {
  while (!bytes.empty()) {
    const i64 done = offset ? os::write_at(descriptor, bytes.data(), bytes.size(), *offset)
                            : os::write(descriptor, bytes.data(), bytes.size());
    if (done < 0) {
      // The reader closed the pipe. The tools then exit with 0, as documented for the command line.
      return output_error(errno == EPIPE ? "out-closed" : "out-write", "cannot be written: " + errno_text(errno), path);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    if (offset) *offset += static_cast<u64>(done);
  }
  return {};
}

tl::unexpected<Error> is_input(const std::string& path) {
  return output_error("out-is-input", "is one of the inputs; choose another name for the output", path);
}

Status is_no_input(const os::FileStatus& there, const std::string& path, const OutputOptions& options) {
  if (!there.is_file()) return {};
  if (was_read(there)) return is_input(path);
  for (const std::string& input : options.inputs) {
    const auto other = os::status(input);
    if (other && there.is_same_file(*other)) return is_input(path);
  }
  return {};
}

}  // namespace

bool is_standard_output(const std::string& path) {
  if (path == "-") return true;
  const auto there = os::status(path);
  const auto standard = os::status(os::standard_output);
  return there && standard && !there->is_file() && there->is_same_file(*standard);
}

Result<std::optional<os::FileStatus>> AtomicOutput::look(const std::string& path, const OutputOptions& options,
                                                         bool may_be_input) {
  const auto there = os::status(path);
  if (!there && errno != ENOENT) return output_error("out-open", "cannot be opened: " + errno_text(errno), path);
  if (there && !may_be_input) MU_TRY(is_no_input(*there, path, options));
  if (there && there->is_folder())
    return output_error("out-directory", "is a directory; the output must be a file", path);
  if (!there || there->is_file()) MU_TRY(refuse_output_in_cache(path));
  if (!there && os::link_status(path)) {
    return output_error("out-link",
                        "is a symbolic link to a file that does not exist; remove the link or create the file", path);
  }
  if (there && there->is_file() && !options.force)
    return output_error("out-exists", "already exists; pass --force to replace it", path);
  return there;
}

Status AtomicOutput::check(const std::string& path, const OutputOptions& options) {
  if (is_standard_output(path)) return {};
  MU_ASSIGN([[maybe_unused]] const std::optional<os::FileStatus> there, look(path, options));
  return {};
}

Result<AtomicOutput> AtomicOutput::create(const std::string& path, const OutputOptions& options) {
  return open(path, options, false);
}

Result<AtomicOutput> AtomicOutput::edit(const std::string& path, const OutputOptions& options) {
  return open(path, options, true);
}

Result<AtomicOutput> AtomicOutput::open(const std::string& path, const OutputOptions& options, bool may_be_input) {
  AtomicOutput output;
  if (is_standard_output(path)) {
    output.path_ = stdout_name;
    output.descriptor_ = os::standard_output;
    if (options.binary && os::is_terminal(os::standard_output)) {
      return output_error("out-terminal", "binary output is not written to a terminal; redirect it to a file or a pipe",
                          output.path_);
    }
    MU_TRY(standard_output_is_no_input());
    if (const auto standard = os::status(os::standard_output)) MU_TRY(is_no_input(*standard, output.path_, options));
    return output;
  }
  output.path_ = path;
  MU_ASSIGN(const std::optional<os::FileStatus> there, look(path, options, may_be_input));
  if (there && !there->is_file()) {
    output.descriptor_ = os::open(path, os::writing);
    if (output.descriptor_ < 0) return output_error("out-open", "cannot be opened: " + errno_text(errno), path);
    output.owns_descriptor_ = true;
    if (options.binary && os::is_terminal(output.descriptor_)) {
      return output_error("out-terminal", "binary output is not written to a terminal; redirect it to a file or a pipe",
                          path);
    }
    return output;
  }
  // Resolve the path of an existing file, so that the target is replaced and a symbolic link remains.
  std::string target = path;
  if (there) {
    auto resolved = os::resolve(path);
    if (!resolved) return output_error("out-open", "cannot be resolved: " + errno_text(errno), path);
    target = std::move(*resolved);
  }
  // Defer signals until the new file has its guard.
  const SignalHold hold;
  output.like_ = there ? target : options.like;
  const unsigned created = output.like_.empty() ? options.mode : 0600;
  for (int attempt = 0; attempt < 100 && output.descriptor_ < 0; ++attempt) {
    output.temporary_ = temporary_name(target, attempt);
    output.descriptor_ = os::create(output.temporary_, created);
    if (output.descriptor_ < 0 && errno != EEXIST) break;
  }
  if (output.descriptor_ < 0) {
    output.temporary_.clear();
    return output_error("out-open", "cannot be created: " + errno_text(errno), path);
  }
  output.guard_ = TemporaryFileGuard(output.temporary_);
  output.owns_descriptor_ = true;
  output.seekable_ = true;
  output.replaced_ = !options.force ? Replaced::none : may_be_input ? Replaced::any : Replaced::no_input;
  output.path_ = target;
  return output;
}

AtomicOutput::AtomicOutput(AtomicOutput&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      guard_(std::move(other.guard_)),
      like_(std::move(other.like_)),
      is_synced_(other.is_synced_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      owns_descriptor_(std::exchange(other.owns_descriptor_, false)),
      seekable_(other.seekable_),
      replaced_(other.replaced_),
      place_(other.place_),
      appended_(other.appended_) {}

AtomicOutput::~AtomicOutput() {
  close();
  if (!temporary_.empty()) os::remove_file(temporary_);
}

void AtomicOutput::close() {
  if (std::exchange(owns_descriptor_, false)) os::close(std::exchange(descriptor_, -1));
}

void AtomicOutput::pause() {
  if (!temporary_.empty()) close();
}

Status AtomicOutput::resume() {
  if (temporary_.empty() || owns_descriptor_) return {};
  descriptor_ = os::open(temporary_, os::reading_and_writing | os::no_link);
  if (descriptor_ < 0) return output_error("out-open", "cannot be opened again: " + errno_text(errno), path_);
  owns_descriptor_ = true;
  return {};
}

Status AtomicOutput::append(Bytes bytes) {
  MU_TRY(write_fully(descriptor_, bytes, seekable_ ? std::optional<u64>(appended_) : std::nullopt, path_));
  appended_ += bytes.size();
  return {};
}

Status AtomicOutput::write_at(u64 offset, Bytes bytes) const {
  return write_fully(descriptor_, bytes, offset, path_);
}

Status AtomicOutput::set_size(u64 size) const {
  if (!os::set_size(descriptor_, size)) {
    return output_error("out-write", "cannot be extended to " + std::to_string(size) + " bytes: " + errno_text(errno),
                        path_);
  }
  return {};
}

void AtomicOutput::start_write_back(u64 offset, u64 size) const {
  if (seekable_) os::start_write_back(descriptor_, offset, size);
}

Status AtomicOutput::let_go(u64 offset, u64 size) const {
  if (!seekable_) return {};
  // The kernel reports a failed write-back once: here, and not again in sync().
  if (const int error = os::end_write_back(descriptor_, offset, size); error != 0) {
    return output_error("out-write", "cannot be written: " + errno_text(error), path_);
  }
  os::drop_from_cache(descriptor_, offset, size);
  return {};
}

// Gives finished outputs their final names: all of them, or none.

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
  if (!os::sync(descriptor_)) return output_error("out-sync", "cannot be synced: " + errno_text(errno), path_);
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
  if (os::rename_new(temporary_, path_)) {
    place_ = Place::appeared;
    return {};
  }
  if (errno == EEXIST) return appeared();
  if (!os::rename_is_unsupported()) return not_renamed(path_);
  // A hard link does not replace an existing file either. If the file system has no hard links, check first, although
  // that is not atomic.
  if (os::link(temporary_, path_)) {
    os::remove_file(temporary_);
  } else if (errno == EEXIST || os::link_status(path_)) {
    return appeared();
  } else if (!os::rename(temporary_, path_)) {
    return not_renamed(path_);
  }
  place_ = Place::appeared;
  return {};
}

Status AtomicOutput::replace_existing() {
  if (os::exchange(temporary_, path_)) {
    place_ = Place::exchanged;
    return {};
  }
  return os::rename_is_unsupported() ? replace_by_backup() : not_renamed(path_);
}

// Fallback where names cannot be exchanged. The old file gets a second name first, so that it always has one.
Status AtomicOutput::replace_by_backup() {
  const std::string backup = backup_path();
  const bool is_linked = os::link(path_, backup);
  if (!is_linked && !os::rename(path_, backup)) return not_renamed(path_);
  if (os::rename(temporary_, path_)) {
    place_ = Place::backed_up;
    return {};
  }
  const auto failed = not_renamed(path_);
  if (is_linked) {
    os::remove_file(backup);
  } else {
    os::rename(backup, path_);
  }
  return failed;
}

Status AtomicOutput::place() {
  if (temporary_.empty()) return {};
  const auto there = replaced_ != Replaced::none ? os::link_status(path_) : std::nullopt;
  if (!there) return place_new();
  if (there->is_folder()) return output_error("out-directory", "is a directory now; the output must be a file", path_);
  // Includes files that were opened for reading after the output was created.
  if (replaced_ != Replaced::any && was_read(*there)) {
    return output_error("out-is-input", "is one of the inputs; choose another name for the output", path_);
  }
  return replace_existing();
}

// Restores the state before place(). After an error, the message names the file that holds the old content.
Status AtomicOutput::take_back() {
  switch (place_) {
    case Place::temporary: return {};
    case Place::appeared:
      if (!os::remove_file(path_)) {
        return output_error("out-rename", "is left over: it cannot be removed: " + errno_text(errno), path_);
      }
      temporary_.clear();
      break;
    case Place::exchanged:
      if (!os::exchange(temporary_, path_)) {
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
      if (!os::rename(backup_path(), path_)) {
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
  pause();  // Windows renames no folder in which a file is open
  if (place_ == Place::exchanged) os::remove_file(temporary_);
  if (place_ == Place::backed_up) os::remove_file(backup_path());
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
