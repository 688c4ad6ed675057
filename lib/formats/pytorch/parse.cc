#include "formats/pytorch/parse.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/byte_reader.h"
#include "base/types.h"
#include "formats/pytorch/resolve.h"
#include "io/file_kind.h"

namespace modelutils::pytorch {

namespace {

constexpr std::string_view zip_magic = "PK\x03\x04";
constexpr u64 max_version_bytes = 64;

/// True for a protocol 0 pickle that starts with an import: 'c' and two lines, the module and the name. Protocol 0 has
/// no magic bytes.
bool begins_with_global(std::string_view head) {
  if (!head.starts_with('c')) return false;
  head.remove_prefix(1);
  for (int line = 0; line < 2; ++line) {
    const std::size_t end = head.find('\n');
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    if (end == 0 || end == head.npos || !std::ranges::all_of(head.substr(0, end), is_name)) return false;
    head.remove_prefix(end + 1);
  }
  return true;
}

/// Returns the record name in the local header at the start of the file.
std::string_view first_record_name(std::string_view head) {
  constexpr std::size_t local_bytes = 30, name_size_at = 26;
  if (head.size() < local_bytes) return {};
  return head.substr(local_bytes, load<u16>(head.data() + name_size_at));
}

bool ends_as_checkpoint(std::string_view name) {
  constexpr std::array endings = {".bin", ".pt", ".pth", ".ckpt"};
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

/// Returns "archive" for "archive/data.pkl".
std::string_view root_of(std::string_view record) {
  return record.substr(0, record.find('/'));
}

class ZipCheckpoint {
 public:
  ZipCheckpoint(const ByteSource& source, Document& document) : source_(source), document_(document) {}

  Status parse();

 private:
  void error(std::string_view code, std::string message, std::string where = {}, std::optional<u64> offset = {}) {
    document_.findings.error(Scope::container, code, std::move(message), std::move(where), offset);
  }
  const ZipRecord* record(std::string_view path) const {
    const auto found = by_name_.find(folded_name(document_.root + "/" + std::string(path)));
    return found == by_name_.end() ? nullptr : &document_.records[found->second];
  }
  /// Returns the contents of a small record; empty if there is none.
  Result<std::string> text_of(std::string_view path);
  const ZipRecord* find_pickle();
  Status check_version();
  Status check_byte_order();
  bool locate(Storage& storage);

  const ByteSource& source_;
  Document& document_;
  std::unordered_map<std::string, std::size_t> by_name_;  // by folded_name(), as in torch
};

Result<std::string> ZipCheckpoint::text_of(std::string_view path) {
  const ZipRecord* found = record(path);
  if (found == nullptr) return std::string();
  auto bytes = read_record(source_, *found, max_version_bytes);
  if (!bytes) {
    if (bytes.error().code.starts_with("io-")) return tl::make_unexpected(std::move(bytes.error()));
    document_.findings.add(std::move(bytes.error()));
    return std::string();
  }
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

/// Returns ROOT/data.pkl, or nullptr. Reports records outside of the first record's folder.
const ZipRecord* ZipCheckpoint::find_pickle() {
  const ZipRecord* pickle = nullptr;
  for (const ZipRecord& candidate : document_.records) {
    if (root_of(candidate.name) != root_of(document_.records.front().name)) {
      error("pt-root",
            fmt::format("is not in the folder '{}' of the first record: loaders differ in which of the two they use",
                        root_of(document_.records.front().name)),
            Place{"record", candidate.name}.text(), candidate.header_offset);
    }
    const std::string folded = folded_name(candidate.name);
    if (folded.ends_with("/constants.pkl")) {
      error("pt-torchscript", "is TorchScript: a program with its weights; save its state_dict() from the Python model",
            Place{"record", candidate.name}.text(), candidate.header_offset);
    }
    if (pickle == nullptr && folded == std::string(root_of(folded)) + "/data.pkl") pickle = &candidate;
  }
  return pickle;
}

Status ZipCheckpoint::check_version() {
  if (record("version") == nullptr) {
    error("pt-version", "has no record 'version', without which torch does not load it");
    return {};
  }
  MU_ASSIGN(std::string text, text_of("version"));
  if (text.ends_with('\n')) text.pop_back();
  constexpr std::array known = {"1", "2", "3", "4", "5", "6"};
  if (std::ranges::find(known, std::string_view(text)) == known.end()) {
    error("pt-version", fmt::format("is of version '{}'; torch writes 3", text));
  }
  return {};
}

Status ZipCheckpoint::check_byte_order() {
  if (record("byteorder") == nullptr) return {};
  MU_ASSIGN(const std::string order, text_of("byteorder"));
  if (order != "little") {
    error("pt-byteorder",
          fmt::format("its byte order is '{}'; only little is supported, and older versions of torch ignore the record",
                      order));
  }
  return {};
}

bool ZipCheckpoint::locate(Storage& storage) {
  const ZipRecord* found = record("data/" + storage.key);
  if (found == nullptr) {
    error("pt-storage", fmt::format("the record 'data/{}' of a storage is missing", storage.key));
    return false;
  }
  const u64 wanted = storage.elements * storage.element_bytes;  // cannot overflow: checked by the resolver
  if (found->bytes < wanted) {
    error("pt-storage", fmt::format("has {} bytes, but its storage has {}", found->bytes, wanted),
          Place{"record", found->name}.text(), found->data_offset);
    return false;
  }
  if (found->bytes > wanted) {
    document_.findings.warning(Scope::container, "pt-storage-long",
                               fmt::format("has {} bytes, but its storage only {}", found->bytes, wanted),
                               Place{"record", found->name}.text(), found->data_offset);
  }
  if (inflates_too_far(*found)) {
    error("pt-record-size",
          fmt::format("inflates {} bytes to {}, more than {} times", found->stored_bytes, found->bytes, most_inflation),
          Place{"record", found->name}.text(), found->data_offset);
    return false;
  }
  storage.bytes = found->bytes;
  storage.offset = found->data_offset;
  if (found->is_deflated) storage.deflated = *found;
  return true;
}

Status ZipCheckpoint::parse() {
  MU_ASSIGN(ZipArchive archive, read_zip(source_));
  document_.findings.add_all(std::move(archive.findings));
  document_.records = std::move(archive.records);
  for (std::size_t i = 0; i < document_.records.size(); ++i)
    by_name_.emplace(folded_name(document_.records[i].name), i);
  if (document_.records.empty()) {
    if (archive.complete) error("pt-no-pickle", "is a ZIP archive without records, not a PyTorch checkpoint");
    return {};
  }
  const ZipRecord* pickle = find_pickle();
  if (pickle == nullptr) {
    const bool is_npz = std::ranges::all_of(
        document_.records, [](const ZipRecord& each) { return std::string_view(each.name).ends_with(".npy"); });
    error("pt-no-pickle", is_npz ? "is a NumPy archive (.npz), not a PyTorch checkpoint"
                                 : "is a ZIP archive without a record ROOT/data.pkl, not a PyTorch checkpoint");
    return {};
  }
  document_.root = root_of(pickle->name);
  MU_TRY(check_version());
  MU_TRY(check_byte_order());
  auto bytes = read_record(source_, *pickle, std::min(most_pickle_bytes(*pickle), max_pickle_bytes));
  if (!bytes) {
    if (bytes.error().code.starts_with("io-")) return tl::make_unexpected(std::move(bytes.error()));
    document_.findings.add(std::move(bytes.error()));
    return {};
  }
  PickleMachine machine("data.pkl", pickle->is_deflated ? std::nullopt : std::optional(pickle->data_offset));
  const bool is_whole = machine.run(*bytes);
  document_.findings.add_all(machine.take_findings());
  if (!is_whole) return {};
  if (machine.used() < bytes->size()) {
    error(
        "pt-pickle",
        fmt::format("{} bytes after the end of data.pkl's pickle are unaccounted for", bytes->size() - machine.used()),
        Place{"record", pickle->name}.text());
  }
  add_tensors(
      machine, [this](Storage& storage) { return locate(storage); }, document_);
  document_.complete = true;
  return {};
}

}  // namespace

bool is_checkpoint(std::string_view head, std::string_view name) {
  if (!head.starts_with(zip_magic)) {
    // For these endings torch unpickles any file that is not a ZIP archive.
    const bool is_pickle = begins_as_pickle(head) && (ends_as_checkpoint(name) || !begins_as_safetensors(head));
    return is_pickle || (ends_as_checkpoint(name) && begins_with_global(head));
  }
  const std::string_view first = first_record_name(head);
  return ends_as_checkpoint(name) || first.ends_with("/data.pkl") || first.ends_with("/version");
}

Result<Document> parse(const ByteSource& source) {
  Document document;
  document.name = source.name();
  const std::optional<u64> size = source.size();
  if (!size) {
    return input_error("pt-size", "a PyTorch checkpoint cannot be read from a pipe: its directory is at the end", {},
                       {}, source.name());
  }
  document.file_size = *size;
  const std::string head = read_head(source, recognition_bytes);
  if (head.starts_with(zip_magic)) {
    MU_TRY(ZipCheckpoint(source, document).parse());
  } else {
    document.is_legacy = true;
    MU_TRY(parse_legacy(source, document));
  }
  return document;
}

}  // namespace modelutils::pytorch
