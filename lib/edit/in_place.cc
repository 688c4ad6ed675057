#include "edit/in_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "edit/exclusive_file.h"
#include "io/atomic_output.h"
#include "io/interrupt.h"
#include "io/sync_folder.h"
#include "io/temporary_name.h"

namespace modelutils::edit {

namespace {

// The journal is as secret as the file, and belongs to the same user, or it would not count.
Status give_to_owner(int journal, const struct stat& model, const std::string& path) {
  const bool is_given = model.st_uid == ::geteuid() || ::fchown(journal, model.st_uid, model.st_gid) == 0;
  if (is_given && ::fchmod(journal, model.st_mode & 0666) == 0) return {};
  return output_error("out-open", "cannot be given to the owner of the model: " + errno_text(errno), path);
}

Status write_journal(const gguf::EditJournal& journal, const std::string& path, const struct stat& model) {
  MU_ASSIGN(AtomicOutput output, AtomicOutput::create(path, {.force = false, .inputs = {}, .binary = true}));
  MU_TRY(give_to_owner(output.descriptor(), model, path));
  const std::string bytes = journal.encode();
  MU_TRY(output.append(std::as_bytes(std::span(bytes))));
  return output.commit();
}

Status remove_journal(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return output_error("out-write", "cannot be removed, although the edit is done: " + errno_text(errno), path);
  }
  return sync_folder_of(path);
}

Status write_all(const ExclusiveFile& file, const std::vector<gguf::UndoRange>& ranges) {
  for (const gguf::UndoRange& range : ranges) MU_TRY(file.write(range.offset, range.before));
  return file.sync();
}

// Does the file begin with them?
bool has_bytes(const RandomAccessFile& file, std::string_view bytes) {
  std::string part;
  for (std::size_t at = 0; at < bytes.size(); at += part.size()) {
    part.resize(std::min<std::size_t>(bytes.size() - at, u64{256} << 10));
    if (!file.read_exact(at, std::as_writable_bytes(std::span(part))) || bytes.substr(at, part.size()) != part) {
      return false;
    }
  }
  return true;
}

tl::unexpected<Error> foreign_journal(const std::string& path, const std::string& reason) {
  return output_error("edit-journal-foreign",
                      "is in the way of an edit, but is not a journal of this file: " + reason + "; move it away",
                      gguf::journal_path(path));
}

gguf::EditJournal make_journal(const HeaderChange& change, const struct stat& status) {
  gguf::EditJournal journal;
  journal.boot = gguf::boot_id();
  journal.device = static_cast<u64>(status.st_dev);
  journal.inode = static_cast<u64>(status.st_ino);
  journal.file_size = change.file_size;
  journal.header_size = change.before.size();
  journal.old_digest = gguf::header_digest(change.before);
  journal.new_digest = gguf::header_digest(change.after);
  journal.ranges = changed_ranges(change.before, change.after);
  return journal;
}

}  // namespace

std::vector<gguf::UndoRange> changed_ranges(std::string_view before, std::string_view after) {
  constexpr std::size_t joined_gap = 64;  // a range takes 16 bytes of its own, and a call
  std::vector<gguf::UndoRange> ranges;
  std::size_t at = 0;
  while (true) {
    while (at < before.size() && before[at] == after[at]) ++at;
    if (at == before.size()) return ranges;
    std::size_t end = at + 1;  // behind the last byte that differs
    for (std::size_t i = end; i < before.size() && i < end + joined_gap; ++i) {
      if (before[i] != after[i]) end = i + 1;
    }
    ranges.push_back({at, std::string(before.substr(at, end - at))});
    at = end;
  }
}

Status change_header(const HeaderChange& change, bool force, Findings& remarks) {
  MU_ASSIGN(ExclusiveFile file, ExclusiveFile::open(change.path, force, remarks));
  const gguf::JournalSearch search = gguf::find_journal(file.reader(), change.path);
  if (!search.rejected.empty()) return foreign_journal(change.path, search.rejected);
  const bool is_as_planned = file.reader().file_size() == change.file_size && has_bytes(file.reader(), change.before);
  if (!is_as_planned || search.found) {
    return output_error("edit-changed", "has been changed by another program in the meantime", change.path);
  }
  const gguf::EditJournal journal = make_journal(change, file.status());
  const std::string journal_name = gguf::journal_path(change.path);

  SignalHold hold;
  remove_abandoned(journal_name, file.status().st_uid);
  MU_TRY(write_journal(journal, journal_name, file.status()));
  std::vector<gguf::UndoRange> ranges = journal.ranges;
  for (gguf::UndoRange& range : ranges) {
    range.before = std::string(change.after.substr(static_cast<std::size_t>(range.offset), range.before.size()));
  }
  if (const Status written = write_all(file, ranges); !written) {
    Error error = written.error();
    const bool is_restored = write_all(file, journal.ranges) && remove_journal(journal_name);
    error.message += is_restored ? "; the file is as it was" : "; run gguf-edit --recover when that is mended";
    return tl::make_unexpected(std::move(error));
  }
  const Status removed = remove_journal(journal_name);
  if (removed) hold.done();
  return removed;
}

Result<Recovery> recover_header(const std::string& path, bool force, Findings& remarks) {
  MU_ASSIGN(ExclusiveFile file, ExclusiveFile::open(path, force, remarks));
  const gguf::JournalSearch search = gguf::find_journal(file.reader(), path);
  if (!search.rejected.empty()) return foreign_journal(path, search.rejected);
  remove_abandoned(gguf::journal_path(path), file.status().st_uid);
  if (!search.found) return Recovery::nothing_to_do;
  SignalHold hold;
  const gguf::FoundJournal& found = *search.found;
  const bool is_complete = found.state == gguf::EditState::written;
  MU_TRY(is_complete ? file.sync() : write_all(file, found.journal.ranges));
  MU_TRY(remove_journal(found.path));
  hold.done();
  return is_complete ? Recovery::completed : Recovery::restored;
}

}  // namespace modelutils::edit
