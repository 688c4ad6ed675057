#include "gguf/find_journal.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>

#include "base/escape.h"
#include "base/path.h"
#include "io/directory_names.h"
#include "io/edit_lock.h"

namespace modelutils::gguf {

namespace {

using Names = std::vector<std::string>;

constexpr std::size_t most_candidates = 64;

bool is_same_time(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Caches the journals of the last folder listed: the models of a tree share folders, and a folder may have a hundred
// thousand names.
class LastFolder {
 public:
  std::shared_ptr<const Names> journals_in(const std::string& folder) {
    struct stat there {};
    if (::stat(folder.empty() ? "." : folder.c_str(), &there) != 0) return std::make_shared<Names>();
    const std::lock_guard lock(mutex_);
    const bool is_known = names_ != nullptr && there.st_dev == status_.st_dev && there.st_ino == status_.st_ino &&
                          is_same_time(there.st_mtim, status_.st_mtim);
    if (is_known) return names_;
    const auto is_journal = [](std::string_view name, EntryKind) { return name.ends_with(journal_ending); };
    auto names = std::make_shared<Names>();
    if (const auto listed = DirectoryNames::read(folder, is_journal)) {
      for (std::size_t i = 0; i < listed->size(); ++i) names->emplace_back(listed->name(i));
    }
    status_ = there;
    // A change within the clock's resolution does not alter the folder's time, so a listing this recent is not kept.
    constexpr time_t grain = 2;
    names_ = ::time(nullptr) > there.st_mtim.tv_sec + grain ? names : nullptr;
    return names;
  }

 private:
  std::mutex mutex_;
  struct stat status_ {};
  std::shared_ptr<const Names> names_;
};

LastFolder& last_folder() {
  static LastFolder folder;
  return folder;
}

// Reads the whole journal. Returns nullopt if it is not a journal, or is too long for this file.
std::optional<EditJournal> read_journal(const RandomAccessFile& file, const RandomAccessFile& journal) {
  if (journal.file_size() > most_journal_bytes(file.file_size())) return std::nullopt;
  // Check the magic first, because the rest may be long.
  constexpr std::size_t magic_bytes = 8;
  std::string bytes(magic_bytes, '\0');
  const auto read = [&](std::size_t size) {
    bytes.resize(size);
    return journal.read_exact(0, std::as_writable_bytes(std::span(bytes))).has_value();
  };
  if (!read(magic_bytes) || !EditJournal::has_magic(bytes)) return std::nullopt;
  if (!read(static_cast<std::size_t>(journal.file_size()))) return std::nullopt;
  return EditJournal::decode(bytes);
}

Finding rejected_journal(const std::string& journal, std::string_view reason) {
  Finding finding;
  finding.severity = Severity::warning;
  finding.code = "gguf-edit-journal";
  finding.leads = true;
  finding.message = fmt::format(
      "{} has the name of an interrupted edit's journal, but is ignored: {}; if the model is whole, remove it, "
      "otherwise run gguf-edit --recover with the right --journal",
      escape(base_name_of(journal)), reason);
  return finding;
}

Finding interruption(const FoundJournal& found, const RandomAccessFile& file, bool is_moved) {
  const std::string writer = escape(found.journal.writer);
  const std::string journal = escape(base_name_of(found.path)) + (writer.empty() ? "" : ", by " + writer);
  Finding finding;
  finding.code = interrupted_code;
  finding.leads = true;
  finding.message = is_edit_locked(file.descriptor())
                        ? fmt::format("this file is being edited ({}); wait until the edit has finished", journal)
                        : fmt::format("an edit of this file{} was interrupted ({}); run gguf-edit --recover on it",
                                      is_moved ? " under another name" : "", journal);
  return finding;
}

}  // namespace

std::string journal_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return {};
  std::string target = resolved;
  ::free(resolved);
  return target.append(journal_ending);
}

JournalSearch look_at_journal(const RandomAccessFile& file, const std::string& journal, JournalOwner owner) {
  JournalSearch search;
  const int descriptor = ::open(journal.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENAMETOOLONG) return search;
    search.rejected = errno == ELOOP ? "it is a symbolic link" : "it cannot be opened: " + errno_text(errno);
    return search;
  }
  struct stat model {
  }, there{};
  const bool is_examined = ::fstat(file.descriptor(), &model) == 0 && ::fstat(descriptor, &there) == 0;
  const auto opened = RandomAccessFile::adopt(journal, descriptor);
  if (!is_examined || !opened) {
    search.rejected = "it is not a regular file";
    return search;
  }
  const bool is_trusted = there.st_uid == model.st_uid || there.st_uid == 0 || there.st_uid == ::geteuid();
  if (owner == JournalOwner::trusted && !is_trusted) {
    search.rejected = "its owner is not the file's";
    return search;
  }
  std::optional<EditJournal> read = read_journal(file, **opened);
  if (!read) {
    search.rejected = "it is not a complete journal";
    return search;
  }
  if (const auto state = edit_state(*read, file)) {
    search.found = FoundJournal{journal, std::move(*read), *state};
  } else {
    search.rejected = state.error();
    search.is_of_another = state.error() != changed_since_journal;
  }
  return search;
}

JournalSearch find_journal(const RandomAccessFile& file, const std::string& path) {
  const std::string name = journal_path(path);
  return name.empty() ? JournalSearch() : look_at_journal(file, name, JournalOwner::trusted);
}

MovedJournals find_moved_journals(const RandomAccessFile& file, const std::string& path) {
  MovedJournals all;
  const std::string own = journal_path(path);
  if (own.empty()) return all;
  const std::shared_ptr<const Names> names = last_folder().journals_in(folder_of(own));
  all.is_partial = names->size() > most_candidates + 1;
  std::size_t looked_at = 0;
  for (const std::string& name : *names) {
    const std::string journal = folder_of(own) + name;
    if (journal == own) continue;
    if (looked_at++ == most_candidates) break;
    JournalSearch search = look_at_journal(file, journal, JournalOwner::trusted);
    if (search.found) all.found.push_back(std::move(*search.found));
    if (search.rejected.empty() || search.is_of_another || !all.orphan.empty()) continue;
    struct stat owner {};
    const std::string named = journal.substr(0, journal.size() - journal_ending.size());
    if (::lstat(named.c_str(), &owner) == 0) continue;  // opening that file reports the journal
    all.orphan = journal;
    all.why_orphan = std::move(search.rejected);
  }
  return all;
}

std::optional<Finding> interrupted_edit(const RandomAccessFile& file, const std::string& path) {
  const JournalSearch own = find_journal(file, path);
  if (own.found) return interruption(*own.found, file, false);
  const MovedJournals others = find_moved_journals(file, path);
  for (const FoundJournal& moved : others.found) {
    if (moved.state == EditState::torn) return interruption(moved, file, true);
  }
  if (!own.rejected.empty()) return rejected_journal(journal_path(path), own.rejected);
  if (!others.is_partial) {
    if (others.orphan.empty()) return std::nullopt;
    return rejected_journal(others.orphan, others.why_orphan);
  }
  Finding many = rejected_journal(path, "");
  many.message = fmt::format(
      "this folder has more than {} journals of interrupted edits, and not all were examined; run gguf-edit --recover "
      "on the files they are named after",
      most_candidates);
  return many;
}

}  // namespace modelutils::gguf
