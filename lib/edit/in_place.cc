#include "edit/in_place.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/escape.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/gguf/edit_journal.h"
#include "io/atomic_output.h"
#include "io/interrupt.h"
#include "io/model_folder.h"
#include "io/output_place.h"
#include "io/random_access_file.h"

namespace modelutils::edit {

namespace {

Result<std::string> resolve(const std::string& path) {
  auto target = os::resolve(path);
  if (!target) return input_error("io-open", "cannot be opened: " + errno_text(errno), {}, {}, path);
  return std::move(*target);
}

// Returns an error, or with `force` adds a remark instead.
Status refuse(std::string code, std::string message, const std::string& path, bool force, Findings& remarks) {
  if (!force) return output_error(std::move(code), message + "; --force edits it anyway", path);
  Finding remark;
  remark.severity = Severity::warning;
  remark.scope = Scope::model;
  remark.code = std::move(code);
  remark.message = std::move(message);
  remarks.push_back(std::move(remark));
  return {};
}

// Describes why a lease was refused. Source: fcntl(2), F_SETLEASE.
std::string_view why_no_lease(int reason) {
  if (reason == EACCES) return "it belongs to another user, and this process does not have CAP_LEASE";
  if (reason == EPERM) return "this process may not take leases, as in a container without CAP_LEASE";
  if (reason == ENOSYS) return "this system has no leases";
  return "this file system has no leases";
}

}  // namespace

Status refuse_download_cache(const std::string& path) {
  MU_ASSIGN(const std::string target, resolve(path));
  const std::string_view cache = download_cache_of(target);
  if (cache.empty()) return {};
  return input_error("edit-in-cache", in_cache_text(cache) + "; write a copy with -o", {}, {}, path);
}

Result<ExclusiveFile> ExclusiveFile::open(const std::string& path, ExclusiveOptions options, Findings& remarks) {
  MU_TRY(refuse_download_cache(path));
  MU_ASSIGN(const std::string target, resolve(path));
  const int descriptor = os::open(target, os::reading_and_writing | os::no_link | os::no_wait);
  if (descriptor < 0) {
    return output_error("out-open", "cannot be opened for writing: " + errno_text(errno), path);
  }
  ExclusiveFile file;
  file.path_ = path;
  MU_ASSIGN(file.file_, RandomAccessFile::adopt(path, descriptor));
  if (const auto status = os::status(descriptor)) {
    file.status_ = *status;
  } else {
    return output_error("out-open", "cannot be examined: " + errno_text(errno), path);
  }
  const unsigned user = os::user_id();
  if (user != 0 && file.status_.owner != user) {
    return output_error("edit-owner", "belongs to another user, and only the owner can create a journal for it; use -o",
                        path);
  }
  if (file.status_.links > 1) {
    MU_TRY(refuse(
        "edit-hard-links",
        fmt::format("has {} hard links, all of which would change, even one in a download cache", file.status_.links),
        path, options.any_name, remarks));
  }
  if (lock_for_edit(descriptor) == EditLock::held) {
    return output_error("edit-in-use", "is being edited by another process; try again when it has finished", path);
  }
  MU_TRY(file.take_lease(options.force, remarks));
  return file;
}

Status ExclusiveFile::take_lease(bool force, Findings& remarks) const {
  const int reason = os::take_lease(file_->descriptor());
  if (reason == 0) return {};
  if (reason == EAGAIN) return refuse("edit-in-use", "is open in another process", path_, force, remarks);
  return refuse("edit-no-lease",
                fmt::format("cannot tell whether another process has the file open: {} ({})", why_no_lease(reason),
                            errno_text(reason)),
                path_, true, remarks);
}

Status ExclusiveFile::write(u64 offset, std::string_view bytes) const {
  while (!bytes.empty()) {
    const i64 done = os::write_at(file_->descriptor(), bytes.data(), bytes.size(), offset);
    if (done < 0) return output_error("out-write", "cannot be written: " + errno_text(errno), path_);
    bytes.remove_prefix(static_cast<std::size_t>(done));
    offset += static_cast<u64>(done);
  }
  return {};
}

Status ExclusiveFile::sync() const {
  if (os::sync(file_->descriptor())) return {};
  return output_error("out-sync", "cannot be synced: " + errno_text(errno), path_);
}

namespace {

// Gives the journal the model's permissions and owner. It contains parts of the model, and recovery ignores journals of
// other users.
Status give_to_owner(int journal, const std::string& model, const os::FileStatus& status, const std::string& path) {
  const std::string lost = copy_access(model, journal);
  if (const auto now = os::status(journal); now && now->owner == status.owner) return {};
  return output_error("out-open", "cannot be given to the owner of the model: " + lost, path);
}

Status write_journal(const gguf::EditJournal& journal, const std::string& path, const ExclusiveFile& model) {
  MU_ASSIGN(AtomicOutput output, AtomicOutput::create(path, {.inputs = {}, .mode = 0600}));
  MU_TRY(give_to_owner(output.descriptor(), model.reader().name(), model.status(), path));
  const std::string bytes = journal.encode();
  MU_TRY(output.append(std::as_bytes(std::span(bytes))));
  return output.commit();
}

Status remove_journal(const std::string& path) {
  if (!os::remove_file(path) && errno != ENOENT) {
    return output_error("out-write", "cannot be removed, although the edit is done: " + errno_text(errno), path);
  }
  return sync_folder_of(path);
}

Status write_all(const ExclusiveFile& file, const std::vector<gguf::EditRange>& ranges,
                 std::string gguf::EditRange::*side) {
  for (const gguf::EditRange& range : ranges) MU_TRY(file.write(range.offset, range.*side));
  return file.sync();
}

tl::unexpected<Error> foreign_journal(const std::string& journal, const std::string& reason) {
  return output_error("edit-journal-foreign",
                      "is in the way and is not a journal of this file: " + reason + "; move it away", journal);
}

tl::unexpected<Error> other_edit(const ExclusiveFile& file, const std::string& path) {
  const gguf::JournalSearch search = gguf::find_journal(file.reader(), path);
  const std::string writer = search.found ? escape(search.found->journal.writer) : std::string();
  return output_error("edit-in-use",
                      "is being edited by " + (writer.empty() ? "another process" : writer) +
                          "; try again when it has finished, or use --recover if it was interrupted",
                      path);
}

// Removes the journal. Keeps it with a remark if it is named after another existing file, which may need it.
Status settle_journal(const std::string& journal, const ExclusiveFile& file, const std::string& path,
                      Findings& remarks) {
  const std::string named =
      journal.ends_with(gguf::journal_ending) ? journal.substr(0, journal.size() - gguf::journal_ending.size()) : "";
  const bool is_gone = !named.empty() && !os::link_status(named) && errno == ENOENT;
  const auto there = named.empty() ? std::nullopt : os::status(named);
  const bool is_this = there && there->is_same_file(file.status());
  if (is_gone || is_this || journal == gguf::journal_path(path)) return remove_journal(journal);
  Finding remark;
  remark.severity = Severity::warning;
  remark.scope = Scope::model;
  remark.code = "edit-journal-kept";
  remark.message =
      "the journal " + escape(base_name_of(journal)) + " is still there: another file may need it; if not, remove it";
  remarks.push_back(std::move(remark));
  return {};
}

// Returns the journal for recovery, or nullopt if no edit was interrupted.
Result<std::optional<gguf::FoundJournal>> journal_to_recover(const ExclusiveFile& file, const std::string& path,
                                                             const std::string& named) {
  if (!named.empty()) {
    gguf::JournalSearch search = gguf::look_at_journal(file.reader(), named, gguf::JournalOwner::anybody);
    if (search.found) return std::move(search.found);
    if (search.rejected.empty())
      return input_error("io-open", "cannot be opened: there is no such file", {}, {}, named);
    return output_error("edit-journal-foreign", "is not a journal of this file: " + search.rejected, named);
  }
  gguf::JournalSearch own = gguf::find_journal(file.reader(), path);
  if (own.found) return std::move(own.found);
  std::vector<gguf::FoundJournal> moved = gguf::find_moved_journals(file.reader(), path).found;
  const auto torn = std::find_if(moved.begin(), moved.end(),
                                 [](const gguf::FoundJournal& each) { return each.state == gguf::EditState::torn; });
  if (torn != moved.end()) return std::move(*torn);
  if (!own.rejected.empty()) return foreign_journal(gguf::journal_path(path), own.rejected);
  if (moved.empty()) return std::nullopt;
  return std::move(moved.front());
}

}  // namespace

std::vector<gguf::EditRange> changed_ranges(std::string_view before, std::string_view after) {
  constexpr std::size_t joined_gap = 64;  // a separate range costs 16 bytes and one write call
  std::vector<gguf::EditRange> ranges;
  std::size_t at = 0;
  while (true) {
    while (at < before.size() && before[at] == after[at]) ++at;
    if (at == before.size()) return ranges;
    std::size_t end = at + 1;  // past the last differing byte
    for (std::size_t i = end; i < before.size() && i < end + joined_gap; ++i) {
      if (before[i] != after[i]) end = i + 1;
    }
    ranges.push_back({at, std::string(before.substr(at, end - at)), std::string(after.substr(at, end - at))});
    at = end;
  }
}

HeaderChange header_change(std::string path, std::string_view before, std::string_view after, u64 file_size) {
  HeaderChange change{.path = std::move(path), .journal = {}, .file_size = file_size};
  change.journal.writer = gguf::this_writer();
  change.journal.header_size = before.size();
  change.journal.old_digest = gguf::header_digest(before);
  change.journal.new_digest = gguf::header_digest(after);
  change.journal.ranges = changed_ranges(before, after);
  return change;
}

Status change_header(const HeaderChange& change, bool force, Findings& remarks) {
  MU_ASSIGN(ExclusiveFile file, ExclusiveFile::open(change.path, {.force = force, .any_name = force}, remarks));
  const gguf::JournalSearch search = gguf::find_journal(file.reader(), change.path);
  const std::string journal_name = gguf::journal_path(change.path);
  if (!search.rejected.empty()) return foreign_journal(journal_name, search.rejected);
  if (search.found) return other_edit(file, change.path);

  // Write the journal first and never replace one. Without leases and locks it alone excludes other edits, so the
  // header must be compared with the plan after this.
  SignalHold hold;
  remove_abandoned(journal_name, file.status().owner);
  const gguf::EditJournal& journal = change.journal;
  if (Status made = write_journal(journal, journal_name, file); !made) {
    return made.error().code == "out-exists" ? other_edit(file, change.path) : made;
  }
  const bool is_as_planned = file.reader().file_size() == change.file_size &&
                             gguf::edit_state(journal, file.reader()) == gguf::EditState::not_begun;
  if (!is_as_planned) {
    MU_TRY(remove_journal(journal_name));
    return output_error("edit-changed", "has been changed by another program in the meantime", change.path);
  }
  if (const Status written = write_all(file, journal.ranges, &gguf::EditRange::after); !written) {
    Error error = written.error();
    const bool is_restored = write_all(file, journal.ranges, &gguf::EditRange::before) && remove_journal(journal_name);
    error.message += is_restored ? "; the file is unchanged" : "; fix the cause, then run gguf-edit --recover";
    return tl::make_unexpected(std::move(error));
  }
  const Status removed = remove_journal(journal_name);
  if (removed) hold.done();
  return removed;
}

Result<Recovery> recover_header(const std::string& path, const RecoverOptions& options, Findings& remarks) {
  MU_ASSIGN(ExclusiveFile file, ExclusiveFile::open(path, {.force = options.force, .any_name = true}, remarks));
  MU_ASSIGN(const auto found, journal_to_recover(file, path, options.journal));
  remove_abandoned(gguf::journal_path(path), file.status().owner);
  if (!found) return Recovery::nothing_to_do;
  SignalHold hold;
  const bool is_complete = found->state == gguf::EditState::written;
  MU_TRY(is_complete ? file.sync() : write_all(file, found->journal.ranges, &gguf::EditRange::before));
  MU_TRY(settle_journal(found->path, file, path, remarks));
  hold.done();
  return is_complete ? Recovery::completed : Recovery::restored;
}

}  // namespace modelutils::edit
