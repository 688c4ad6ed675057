// Parses all kinds of manifests and tells them apart by their first bytes.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/escape.h"
#include "io/file_kind.h"
#include "json/reader.h"
#include "verify/manifest/manifest.h"
#include "verify/manifest/sums.h"

namespace modelutils {

namespace {

constexpr std::array all_algorithms = {HashAlgorithm::sha256, HashAlgorithm::xxh3, HashAlgorithm::sha1,
                                       HashAlgorithm::xxh64};

tl::unexpected<Error> syntax_error(u64 line, std::string_view message) {
  const std::string where = line == 0 ? std::string() : fmt::format("line {}", line);
  return input_error("manifest-syntax", std::string(message), where);
}

// Returns a text member written by verify --hash: a string, or {"base64": …} for text that is not UTF-8.
std::optional<std::string> text_member(json::Element object, std::string_view key) {
  if (const auto text = json::string_member(object, key)) return std::string(*text);
  const auto wrapped = json::member(object, key);
  if (!wrapped) return std::nullopt;
  const auto encoded = json::string_member(*wrapped, "base64");
  return encoded ? decode_base64(*encoded) : std::nullopt;
}

// Adds an entry for every algorithm in the object.
Status add_hashes(json::Element object, ManifestEntry entry, u64 line, ManifestEntries& entries) {
  bool any = false;
  for (const HashAlgorithm algorithm : all_algorithms) {
    if (!json::member(object, hash_name(algorithm))) continue;
    const auto text = json::string_member(object, hash_name(algorithm));
    const auto digest = text ? digest_of(algorithm, *text) : std::nullopt;
    if (!digest) {
      return syntax_error(
          line, fmt::format("'{}' must be {} hexadecimal digits", hash_name(algorithm), hex_digits(algorithm)));
    }
    entry.algorithm = algorithm;
    entry.digest = *digest;
    entries.push_back(entry);
    any = true;
  }
  if (!any) return syntax_error(line, "has none of the members sha256, xxh3, sha1 and xxh64");
  return {};
}

// ---- JSON Lines of verify --hash
// -------------------------------------------------------------------------------------

Status parse_own_line(json::Element object, u64 line, Manifest& manifest) {
  ManifestEntry entry;
  const auto file = text_member(object, "file");
  if (!file) return syntax_error(line, "has no member 'file', or it is not a string");
  entry.file = *file;
  json::Object members;
  const std::optional<json::Element> tensor = object.get(members) ? members.find("tensor") : std::nullopt;
  const std::optional<std::string> name = text_member(object, "tensor");
  if (!tensor) return syntax_error(line, "has no member 'tensor'");
  if (tensor->is_null()) {
    entry.subject = ManifestEntry::Subject::file;
  } else if (name) {
    entry.tensor = *name;
  } else {
    return syntax_error(line, "'tensor' must be a string or null");
  }
  if (json::member(object, "bytes")) {
    entry.bytes = json::u64_member(object, "bytes");
    if (!entry.bytes) return syntax_error(line, "'bytes' must be a whole number");
  }
  return add_hashes(object, entry, line, manifest.entries);
}

// ---- the JSON object of gguf2bump --manifest
// -------------------------------------------------------------------------

// Returns the array of entries: objects with a name and a checksum. The member's own name does not matter.
std::optional<json::Array> entry_array(json::Element root) {
  json::Object object;
  if (!root.get(object)) return std::nullopt;
  for (const auto& [key, value] : object) {
    json::Array array;
    if (!value.get(array) || array.size() == 0) continue;
    const json::Element first = array.at(0).value();
    if (json::string_member(first, "name") && json::string_member(first, "sha256")) return array;
  }
  return std::nullopt;
}

Status parse_object(json::Element root, Manifest& manifest) {
  const auto array = entry_array(root);
  if (!array) return syntax_error(0, "is a JSON object without any entries that have a name and a sha256");
  if (const auto dimensions = json::object_member(root, "dimensions")) {
    for (const auto& [name, value] : *dimensions) {
      u64 field = 0;
      if (value.get(field)) manifest.numbers.push_back({std::string(name), field});
    }
  }
  u64 number = 0;
  for (const json::Element element : *array) {
    const std::string where = fmt::format("entry {}", number++);
    ManifestEntry entry;
    const auto name = json::string_member(element, "name");
    entry.offset = json::u64_member(element, "file_offset");
    entry.bytes = json::u64_member(element, "size");
    if (!name || !entry.offset || !entry.bytes) {
      return input_error("manifest-syntax", "needs name, file_offset and size", where);
    }
    entry.tensor = *name;
    entry.dtype = json::string_member(element, "dtype").value_or("");
    if (Status added = add_hashes(element, entry, 0, manifest.entries); !added) {
      added.error().where = where;
      return added;
    }
  }
  return {};
}

// ---- the text of llama-gguf-hash
// -------------------------------------------------------------------------------------

std::string_view take_word(std::string_view& rest) {
  const std::size_t begin = std::min(rest.find_first_not_of(" \t"), rest.size());
  const std::size_t end = std::min(rest.find_first_of(" \t", begin), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

Status parse_text_line(std::string_view text, u64 line, Manifest& manifest) {
  std::string_view rest = text;
  const std::string_view name = take_word(rest);
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  const std::string_view digits = take_word(rest);
  const std::size_t subject = rest.find_first_not_of(" \t");
  if (subject == std::string_view::npos)
    return syntax_error(line,
                        "has neither the form 'HEX  FILE' of a SHA-256 or SHA-1 nor 'ALGORITHM  HEX  FILE:TENSOR'");
  if (lower == "uuid") {
    manifest.remarks.note(Scope::model, "manifest-uuid", "a UUID, which is not checked", fmt::format("line {}", line));
    return {};
  }
  const auto algorithm = hash_from_name(lower);
  if (!algorithm) return syntax_error(line, fmt::format("'{}' is not one of xxh64, sha1, sha256 and xxh3", name));
  const auto digest = digest_of(*algorithm, digits);
  if (!digest) {
    return syntax_error(line, fmt::format("'{}' is not a {} checksum, which has {} hexadecimal digits", digits, lower,
                                          hex_digits(*algorithm)));
  }
  ManifestEntry entry;
  entry.algorithm = *algorithm;
  entry.digest = *digest;
  entry.unsplit = rest.substr(subject);
  manifest.entries.push_back(entry);
  return {};
}

}  // namespace

// ---- all three
// -------------------------------------------------------------------------------------------------------

Status ManifestLines::take(std::string_view content) {
  const u64 line = ++number_;
  if (content.ends_with('\r')) content.remove_suffix(1);
  const std::size_t begin = content.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  const auto parsed = parse_sums_line(content.substr(begin), line, manifest_);
  if (!parsed && parsed.error().code == "manifest-name") {
    manifest_.is_published = true;
    manifest_.remarks.add(without_path(parsed.error(), Scope::data));
    return {};
  }
  if (!parsed) return tl::make_unexpected(parsed.error());
  if (*parsed || content[begin] == '#') return {};  // a comment, which sha256sum skips as well
  if (content[begin] != '{') return parse_text_line(content, line, manifest_);
  auto document = json::parse(content, manifest_.path);
  if (!document) return syntax_error(line, document.error().message);
  const json::Element root = (*document)->root;
  if (json::member(root, "schema")) return {};  // the report line of verify --json --hash
  return parse_own_line(root, line, manifest_);
}

bool is_of_lines(std::string_view beginning) {
  if (beginning.starts_with(lfs_pointer_begin)) return false;
  const std::size_t begin = std::min(beginning.find_first_not_of(" \t\r\n"), beginning.size());
  beginning.remove_prefix(begin);
  if (!beginning.starts_with('{')) return !beginning.starts_with('[');
  const auto document = json::parse(beginning.substr(0, beginning.find('\n')), {});
  return document && (json::member((*document)->root, "tensor") || json::member((*document)->root, "schema"));
}

namespace {

Status of_manifest(Status status, const Manifest& manifest) {
  if (status) return status;
  return tl::make_unexpected(in_file(std::move(status.error()), manifest.path));
}

// Parses the Hub's file list or the JSON of gguf2bump. Returns false if the text is neither, so it consists of lines.
Result<bool> parse_document(std::string_view text, Manifest& manifest) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  text.remove_prefix(begin);
  if (!text.starts_with('{') && !text.starts_with('[')) return false;
  const std::size_t line_end = std::min(text.find('\n'), text.size());
  const bool is_one_line = text.find_first_not_of(blanks, line_end) == text.npos;
  const auto document = json::parse(text, manifest.path);
  if (!document) {
    if (text[0] == '[') return false;
    if (!is_one_line) {
      const auto first = json::parse(text.substr(0, line_end), manifest.path);
      if (first && !entry_array((*first)->root)) return false;
    }
    MU_TRY(of_manifest(syntax_error(0, document.error().message), manifest));
  }
  const json::Element root = (*document)->root;
  auto published = parse_hub_list(root, manifest);
  if (!published) return tl::make_unexpected(in_file(std::move(published.error()), manifest.path));
  manifest.is_published = *published;
  if (manifest.is_published) return true;
  if (text[0] == '[' || (is_one_line && !entry_array(root))) return false;
  MU_TRY(of_manifest(parse_object(root, manifest), manifest));
  return true;
}

}  // namespace

// Refuses other files, for example a model given in place of its manifest.
Status refuse_other_kinds(std::string_view head, const std::string& path) {
  const FileKind kind = file_kind(head);
  if (kind != FileKind::unknown && kind != FileKind::empty && kind != FileKind::git_lfs) {
    return input_error("manifest-syntax", fmt::format("is not a manifest but {}", file_kind_text(kind)), {}, {}, path);
  }
  if (head.find('\0') != head.npos)
    return input_error("manifest-syntax", "is not a manifest: it is not text", {}, {}, path);
  return {};
}

Result<Manifest> parse_manifest(std::string_view text, std::string path) {
  Manifest manifest;
  manifest.path = std::move(path);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  MU_TRY(refuse_other_kinds(text.substr(0, file_kind_bytes), manifest.path));
  Status parsed;
  auto is_pointer = parse_lfs_pointer(text, manifest);
  if (!is_pointer) return tl::make_unexpected(in_file(std::move(is_pointer.error()), manifest.path));
  if (*is_pointer) return manifest;
  bool is_document = false;
  if (!is_of_lines(text)) {
    MU_ASSIGN(is_document, parse_document(text, manifest));
  }
  if (!is_document) {
    ManifestLines lines(manifest);
    while (parsed && !text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      parsed = lines.take(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  if (!parsed) return tl::make_unexpected(in_file(std::move(parsed.error()), manifest.path));
  return complete(std::move(manifest));
}

Result<Manifest> complete(Manifest manifest) {
  if (manifest.entries.empty()) {
    for (const Finding& remark : manifest.remarks.findings()) {
      if (remark.code == "manifest-name") return tl::make_unexpected(with_path(remark, manifest.path));
    }
    return input_error("manifest-empty", "is a manifest without any checksums", {}, {}, manifest.path);
  }
  return manifest;
}

}  // namespace modelutils
