#include "formats/gguf/edit_journal.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>

#include "base/byte_reader.h"
#include "base/escape.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "io/hash.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"

namespace modelutils::gguf {

namespace {

constexpr std::string_view magic = "mu-edit\n";
constexpr std::string_view magic_of_version_1 = "GGUFEDIT";
constexpr std::size_t digest_bytes = 16;
constexpr u64 max_writer_bytes = 256;
constexpr u64 max_boot_bytes = 64;
constexpr u64 max_header_size = u64{1} << 30;  // limits how much a journal makes us read; above any model's header

bool read_text(ByteReader& reader, u64 most, std::string& text) {
  const u64 size = reader.read<u64>();
  if (!reader.ok() || size > most) return false;
  text = reader.read_string(size);
  return reader.ok();
}

// Reads the fields before the header size. Version 1 also has the file's boot id, device, inode and size, which are
// ignored. Returns the version, or 0 if it is unknown.
u32 read_beginning(ByteReader& reader, EditJournal& journal) {
  const std::string begins = reader.read_string(magic.size());
  const u32 version = reader.read<u32>();
  if (begins == magic && version == 2) return read_text(reader, max_writer_bytes, journal.writer) ? version : 0;
  std::string boot;
  if (begins != magic_of_version_1 || version != 1 || !read_text(reader, max_boot_bytes, boot)) return 0;
  for (int number = 0; number < 3; ++number) reader.read<u64>();
  return version;
}

bool read_ranges(ByteReader& reader, u32 version, EditJournal& journal) {
  constexpr u64 min_range_bytes = 16;
  const u64 count = reader.read<u64>();
  if (!reader.ok() || !reader.may_hold(count, min_range_bytes)) return false;
  u64 past = 0;  // end of the previous range
  for (u64 i = 0; i < count; ++i) {
    EditRange range;
    range.offset = reader.read<u64>();
    const u64 size = reader.read<u64>();
    if (!reader.ok() || range.offset < past || !fits(range.offset, size, journal.header_size)) return false;
    past = range.offset + size;
    range.before = reader.read_string(size);
    if (version > 1) range.after = reader.read_string(size);
    if (!reader.ok()) return false;
    journal.ranges.push_back(std::move(range));
  }
  return reader.remaining() == u64{0};
}

// One pass over a header that computes its digest as it is, and its digest with the ranges' old bytes restored.
class HeaderPass {
 public:
  explicit HeaderPass(const EditJournal& journal) : journal_(journal) {}

  Status read(const RandomAccessFile& file) {
    constexpr u64 chunk_bytes = u64{1} << 18;
    for (u64 at = 0; at < journal_.header_size; at += chunk_.size()) {
      chunk_.resize(static_cast<std::size_t>(std::min(chunk_bytes, journal_.header_size - at)));
      MU_TRY(file.read_exact(at, std::as_writable_bytes(std::span(chunk_))));
      now_.update(std::as_bytes(std::span(chunk_)));
      undo(at);
      undone_.update(std::as_bytes(std::span(chunk_)));
    }
    return {};
  }

  std::string now() { return now_.digest(); }
  std::string undone() { return undone_.digest(); }
  /// True if every byte in each range is the old or the new one.
  bool is_between() const { return is_between_; }

 private:
  // Restores the ranges' old bytes in the chunk that begins at `at`.
  void undo(u64 at) {
    const u64 end = at + chunk_.size();
    while (next_ < journal_.ranges.size()) {
      const EditRange& range = journal_.ranges[next_];
      const u64 range_end = range.offset + range.before.size();
      for (u64 i = std::max(at, range.offset); i < std::min(end, range_end); ++i) {
        char& byte = chunk_[static_cast<std::size_t>(i - at)];
        const auto in_range = static_cast<std::size_t>(i - range.offset);
        const bool is_new = range.after.empty() || byte == range.after[in_range];
        is_between_ = is_between_ && (is_new || byte == range.before[in_range]);
        byte = range.before[in_range];
      }
      if (range_end > end) return;  // the range continues or begins in the next chunk
      ++next_;
    }
  }

  const EditJournal& journal_;
  std::string chunk_;
  std::size_t next_ = 0;
  Hasher now_{HashAlgorithm::xxh3};
  Hasher undone_{HashAlgorithm::xxh3};
  bool is_between_ = true;
};

}  // namespace

std::string EditJournal::encode() const {
  std::string out(magic);
  put<u32>(out, 2);
  put_text(out, writer);
  put(out, header_size);
  put_text(out, old_digest);
  put_text(out, new_digest);
  put<u64>(out, ranges.size());
  for (const EditRange& range : ranges) {
    put(out, range.offset);
    put_text(out, range.before);
    out += range.after;
  }
  return out + header_digest(out);
}

std::optional<EditJournal> EditJournal::decode(std::string_view bytes) {
  if (bytes.size() < magic.size() + digest_bytes) return std::nullopt;
  const std::string_view body = bytes.substr(0, bytes.size() - digest_bytes);
  if (header_digest(body) != bytes.substr(body.size())) return std::nullopt;
  ByteReader reader(std::as_bytes(std::span(body)));
  EditJournal journal;
  const u32 version = read_beginning(reader, journal);
  if (version == 0) return std::nullopt;
  journal.header_size = reader.read<u64>();
  if (journal.header_size > max_header_size) return std::nullopt;
  if (!read_text(reader, digest_bytes, journal.old_digest) || !read_text(reader, digest_bytes, journal.new_digest) ||
      !read_ranges(reader, version, journal)) {
    return std::nullopt;
  }
  return journal;
}

bool EditJournal::has_magic(std::string_view bytes) {
  return bytes.starts_with(magic) || bytes.starts_with(magic_of_version_1);
}

u64 most_journal_bytes(u64 header_size) {
  constexpr u64 beside_ranges = 512;
  constexpr u64 per_byte = 18;  // size of a range of one byte: offset, length, old byte, new byte
  const std::optional<u64> ranges = checked_mul(header_size, per_byte);
  return ranges && *ranges < ~u64{0} - beside_ranges ? *ranges + beside_ranges : ~u64{0};
}

std::string this_writer() {
  std::string text = "process " + std::to_string(os::process_id());
  if (const std::string host = os::host_name(); !host.empty()) text += " on " + escape(host);
  return text.substr(0, max_writer_bytes);
}

std::string header_digest(std::string_view bytes) {
  return xxh3_digest(std::as_bytes(std::span(bytes)));
}

tl::expected<EditState, std::string> edit_state(const EditJournal& journal, const RandomAccessFile& file) {
  if (journal.header_size > file.file_size()) {
    return tl::make_unexpected(std::string("the file is shorter than the header it was written for"));
  }
  HeaderPass pass(journal);
  if (!pass.read(file)) return tl::make_unexpected(std::string("the file cannot be read"));
  const std::string digest = pass.now();
  if (digest == journal.new_digest) return EditState::written;
  if (digest == journal.old_digest) return EditState::not_begun;
  if (pass.undone() != journal.old_digest) return tl::make_unexpected(std::string("it was written for another header"));
  if (!pass.is_between()) return tl::make_unexpected(std::string(changed_since_journal));
  return EditState::torn;
}

namespace {

using Names = std::vector<std::string>;

constexpr std::size_t most_candidates = 64;

// Caches the journals of the last folder listed: many models may share a folder, and a folder may have a hundred
// thousand names.
class LastFolder {
 public:
  std::shared_ptr<const Names> journals_in(const std::string& folder) {
    const auto there = os::status(folder.empty() ? "." : folder);
    if (!there) return std::make_shared<Names>();
    const std::lock_guard lock(mutex_);
    const bool is_known = names_ != nullptr && there->is_same_file(status_) && there->modified == status_.modified;
    if (is_known) return names_;
    const auto is_journal = [](std::string_view name, EntryKind) { return name.ends_with(journal_ending); };
    auto names = std::make_shared<Names>();
    if (const auto listed = DirectoryNames::read(folder, is_journal)) {
      for (std::size_t i = 0; i < listed->size(); ++i) names->emplace_back(listed->name(i));
    }
    status_ = *there;
    // A change within the clock's resolution does not alter the folder's time, so a listing of a folder changed this
    // recently is not cached.
    constexpr i64 grain = 2, second = 1'000'000'000;
    names_ = i64{std::time(nullptr)} > there->modified / second + grain ? names : nullptr;
    return names;
  }

 private:
  std::mutex mutex_;
  os::FileStatus status_;
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
  const auto target = os::resolve(path);
  return target ? *target + std::string(journal_ending) : std::string();
}

JournalSearch look_at_journal(const RandomAccessFile& file, const std::string& journal, JournalOwner owner) {
  JournalSearch search;
  const int descriptor = os::open(journal, os::reading | os::no_link | os::no_wait);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENAMETOOLONG) return search;
    search.rejected = errno == ELOOP ? "it is a symbolic link" : "it cannot be opened: " + errno_text(errno);
    return search;
  }
  const auto model = os::status(file.descriptor()), there = os::status(descriptor);
  const auto opened = RandomAccessFile::adopt(journal, descriptor);
  if (!model || !there || !opened) {
    search.rejected = "it is not a regular file";
    return search;
  }
  const bool is_trusted = there->owner == model->owner || there->owner == 0 || there->owner == os::user_id();
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
    const std::string named = journal.substr(0, journal.size() - journal_ending.size());
    if (os::link_status(named)) continue;  // when that file is opened, the journal is reported
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
