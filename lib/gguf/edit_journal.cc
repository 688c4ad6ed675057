#include "gguf/edit_journal.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/checked_math.h"
#include "base/escape.h"
#include "io/hash.h"

namespace modelutils::gguf {

namespace {

constexpr std::string_view magic = "mu-edit\n";
constexpr std::string_view magic_of_version_1 = "GGUFEDIT";
constexpr std::size_t digest_bytes = 16;
constexpr u64 max_writer_bytes = 256;
constexpr u64 max_boot_bytes = 64;
constexpr u64 max_header_size = u64{1} << 30;  // larger than any model's; limits reads on a journal's request

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

  std::string now() const { return now_.digest(); }
  std::string undone() const { return undone_.digest(); }
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
  Xxh3Stream now_;
  Xxh3Stream undone_;
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
  std::string text = "process " + std::to_string(::getpid());
  struct utsname host {};
  if (::uname(&host) == 0) text += " on " + escape(host.nodename);
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

}  // namespace modelutils::gguf
