#include "gguf/edit_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/checked_math.h"
#include "base/path.h"
#include "io/hash.h"

namespace modelutils::gguf {

namespace {

constexpr std::string_view magic = "GGUFEDIT";
constexpr u32 format_version = 1;
constexpr std::size_t digest_bytes = 16;
constexpr std::string_view ending = ".edit-journal";
constexpr u64 max_boot_bytes = 64;
constexpr u64 max_identity_bytes = 256;          // magic, version, boot id and four numbers; the two digests, too
constexpr u64 most_journal_bytes_per_byte = 17;  // of the header: a range of one byte takes 16 more

Result<std::string> read_bytes(const RandomAccessFile& file, u64 size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  MU_TRY(file.read_exact(0, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

// What a journal begins with: of which file it is. False if that is none, or not of a version that we know.
bool read_identity(ByteReader& reader, EditJournal& journal) {
  if (reader.read_string(magic.size()) != magic || reader.read<u32>() != format_version) return false;
  const u64 boot_bytes = reader.read<u64>();
  if (!reader.ok() || boot_bytes > max_boot_bytes) return false;
  journal.boot = reader.read_string(boot_bytes);
  for (u64* number : {&journal.device, &journal.inode, &journal.file_size, &journal.header_size}) {
    *number = reader.read<u64>();
  }
  return reader.ok() && journal.header_size <= journal.file_size;
}

// Is it the journal of this file? Empty, or why not.
std::string other_file(const EditJournal& journal, const RandomAccessFile& file, const struct stat& status) {
  if (journal.inode != static_cast<u64>(status.st_ino) || journal.file_size != file.file_size()) {
    return "it was made for another file";
  }
  if (journal.boot == boot_id() && journal.device != static_cast<u64>(status.st_dev)) {
    return "it was made for a file on another device";
  }
  return {};
}

// The whole journal, once its beginning says that it is of this file: what somebody laid next to a model is not read
// however long it is. Or why not.
tl::expected<EditJournal, std::string> read_journal(const RandomAccessFile& file, const RandomAccessFile& journal_file,
                                                    const struct stat& status) {
  const auto broken = [] { return tl::make_unexpected(std::string("it is not a whole journal")); };
  const Result<std::string> head = read_bytes(journal_file, std::min(journal_file.file_size(), max_identity_bytes));
  if (!head) return broken();
  ByteReader reader(std::as_bytes(std::span(*head)));
  EditJournal identity;
  if (!read_identity(reader, identity)) return broken();
  if (std::string other = other_file(identity, file, status); !other.empty()) return tl::make_unexpected(other);
  const std::optional<u64> ranges = checked_mul(identity.header_size, most_journal_bytes_per_byte);
  if (!ranges || journal_file.file_size() - std::min(journal_file.file_size(), max_identity_bytes) > *ranges) {
    return broken();
  }
  const Result<std::string> whole = read_bytes(journal_file, journal_file.file_size());
  std::optional<EditJournal> journal = whole ? EditJournal::decode(*whole) : std::nullopt;
  if (!journal) return broken();
  return std::move(*journal);
}

// Why the header is not one that the journal leads to or from; empty if it is. Sets the state.
std::string compare(FoundJournal& found, const RandomAccessFile& file) {
  const EditJournal& journal = found.journal;
  Result<std::string> header = read_bytes(file, journal.header_size);
  if (!header) return "the file cannot be read";
  const std::string digest = header_digest(*header);
  if (digest == journal.new_digest) {
    found.state = EditState::written;
    return {};
  }
  found.state = digest == journal.old_digest ? EditState::not_begun : EditState::torn;
  for (const UndoRange& range : journal.ranges) {
    header->replace(static_cast<std::size_t>(range.offset), range.before.size(), range.before);
  }
  if (header_digest(*header) != journal.old_digest) return "the file has been changed since it was made";
  return {};
}

}  // namespace

std::string EditJournal::encode() const {
  std::string out(magic);
  put(out, format_version);
  put_text(out, boot);
  for (const u64 number : {device, inode, file_size, header_size}) put(out, number);
  put_text(out, old_digest);
  put_text(out, new_digest);
  put<u64>(out, ranges.size());
  for (const UndoRange& range : ranges) {
    put(out, range.offset);
    put_text(out, range.before);
  }
  return out + header_digest(out);
}

std::optional<EditJournal> EditJournal::decode(std::string_view bytes) {
  if (bytes.size() < magic.size() + digest_bytes || !bytes.starts_with(magic)) return std::nullopt;
  const std::string_view body = bytes.substr(0, bytes.size() - digest_bytes);
  if (header_digest(body) != bytes.substr(body.size())) return std::nullopt;
  ByteReader reader(std::as_bytes(std::span(body)));
  EditJournal journal;
  if (!read_identity(reader, journal)) return std::nullopt;
  journal.old_digest = reader.read_string(reader.read<u64>());
  journal.new_digest = reader.read_string(reader.read<u64>());
  constexpr u64 min_range_bytes = 16;
  const u64 count = reader.read<u64>();
  if (!reader.ok() || !reader.may_hold(count, min_range_bytes)) return std::nullopt;
  for (u64 i = 0; i < count; ++i) {
    UndoRange range;
    range.offset = reader.read<u64>();
    range.before = reader.read_string(reader.read<u64>());
    if (!reader.ok() || !fits(range.offset, range.before.size(), journal.header_size)) return std::nullopt;
    journal.ranges.push_back(std::move(range));
  }
  if (reader.remaining() != u64{0}) return std::nullopt;
  return journal;
}

std::string journal_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return {};
  std::string target = resolved;
  ::free(resolved);
  return target.append(ending);
}

std::string boot_id() {
  const int descriptor = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  char text[64];
  const ssize_t size = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

std::string header_digest(std::string_view bytes) {
  return xxh3_digest(std::as_bytes(std::span(bytes)));
}

JournalSearch find_journal(const RandomAccessFile& file, const std::string& path) {
  JournalSearch search;
  const std::string name = journal_path(path);
  if (name.empty()) return search;
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    if (errno != ENOENT && errno != ENAMETOOLONG) search.rejected = "it cannot be opened: " + errno_text(errno);
    return search;
  }
  struct stat model {
  }, there{};
  const bool is_examined = ::fstat(file.descriptor(), &model) == 0 && ::fstat(descriptor, &there) == 0;
  const auto opened = RandomAccessFile::adopt(name, descriptor);
  if (!is_examined || !opened) {
    search.rejected = "it is not a regular file";
  } else if (there.st_uid != model.st_uid) {
    search.rejected = "its owner is not that of the file";
  } else if (auto journal = read_journal(file, **opened, model); !journal) {
    search.rejected = std::move(journal.error());
  } else {
    FoundJournal found{name, std::move(*journal), EditState::torn};
    search.rejected = compare(found, file);
    if (search.rejected.empty()) search.found = std::move(found);
  }
  return search;
}

std::optional<Finding> interrupted_edit(const RandomAccessFile& file, const std::string& path) {
  const JournalSearch search = find_journal(file, path);
  if (!search.found) return std::nullopt;
  Finding finding;
  finding.code = interrupted_code;
  finding.message =
      "an edit of this file was interrupted (" + base_name_of(search.found->path) + "); run gguf-edit --recover on it";
  finding.leads = true;
  return finding;
}

}  // namespace modelutils::gguf
