#include "gguf/edit_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/byte_reader.h"
#include "base/checked_math.h"
#include "base/path.h"
#include "io/hash.h"

namespace modelutils::gguf {

namespace {

constexpr std::string_view magic = "GGUFEDIT";
constexpr u32 format_version = 1;
constexpr std::size_t digest_bytes = 16;
constexpr std::string_view ending = ".edit-journal";

template <typename T>
void put(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void put_text(std::string& out, std::string_view text) {
  put<u64>(out, text.size());
  out.append(text);
}

Result<std::string> read_bytes(const RandomAccessFile& file, u64 size) {
  std::string bytes(static_cast<std::size_t>(size), '\0');
  MU_TRY(file.read_exact(0, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

std::string read_whole(const RandomAccessFile& file) {
  return read_bytes(file, file.file_size()).value_or(std::string());
}

// Why the journal is not one of this file; empty if it is. Sets the state.
std::string compare(FoundJournal& found, const RandomAccessFile& file, const struct stat& status) {
  const EditJournal& journal = found.journal;
  if (journal.inode != static_cast<u64>(status.st_ino) || journal.file_size != file.file_size()) {
    return "it was made for another file";
  }
  if (journal.boot == boot_id() && journal.device != static_cast<u64>(status.st_dev)) {
    return "it was made for a file on another device";
  }
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
  reader.skip(magic.size());
  if (reader.read<u32>() != format_version) return std::nullopt;
  EditJournal journal;
  journal.boot = reader.read_string(reader.read<u64>());
  for (u64* number : {&journal.device, &journal.inode, &journal.file_size, &journal.header_size}) {
    *number = reader.read<u64>();
  }
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
  if (reader.remaining() != u64{0} || journal.header_size > journal.file_size) return std::nullopt;
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
  Hasher hasher(HashAlgorithm::xxh3);
  hasher.update(std::as_bytes(std::span(bytes)));
  return hasher.digest();
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
  } else if (std::optional<EditJournal> journal = EditJournal::decode(read_whole(**opened)); !journal) {
    search.rejected = "it is not a whole journal";
  } else {
    FoundJournal found{name, std::move(*journal), EditState::torn};
    search.rejected = compare(found, file, model);
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
