#include "verify/manifest/sums.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/path.h"

namespace modelutils {

namespace {

using Subject = ManifestEntry::Subject;

tl::unexpected<Error> refused(std::string_view code, std::string message, u64 line) {
  return input_error(std::string(code), std::move(message), line == 0 ? std::string() : fmt::format("line {}", line));
}

// Makes an entry for a whole file; refuses a name that leads out of the folder. The entry has views into both texts.
Result<ManifestEntry> file_entry(std::string_view name, HashAlgorithm algorithm, std::string_view digest, u64 line) {
  const std::string_view relative =
      name.starts_with('/') ? name.substr(1) : name;  // an absolute name may match a given path
  if (!stays_below(relative)) {
    return refused("manifest-name",
                   fmt::format("'{}' is not a name below the folder of the checksums, so it is not opened", name),
                   line);
  }
  ManifestEntry entry;
  entry.subject = Subject::file;
  entry.file = name;
  entry.algorithm = algorithm;
  entry.digest = digest;
  return entry;
}

// Decodes "\\", "\n" and "\r" in a name whose line begins with '\'; returns nullopt for any other escape.
std::optional<std::string> unescaped(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      name += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    switch (text[i]) {
      case '\\': name += '\\'; break;
      case 'n': name += '\n'; break;
      case 'r': name += '\r'; break;
      default: return std::nullopt;
    }
  }
  return name;
}

struct NamedAlgorithm {
  std::string_view name;
  HashAlgorithm algorithm;
};
constexpr NamedAlgorithm tags[] = {{"SHA256", HashAlgorithm::sha256}, {"SHA1", HashAlgorithm::sha1}};

std::optional<HashAlgorithm> by_digits(std::size_t digits) {
  for (const NamedAlgorithm& tag : tags) {
    if (hex_digits(tag.algorithm) == digits) return tag.algorithm;
  }
  return std::nullopt;
}

struct Parts {
  std::string_view name;
  std::string_view hex;
  HashAlgorithm algorithm;
};

// "SHA256 (NAME) = HEX"
std::optional<Parts> tagged(std::string_view line) {
  for (const NamedAlgorithm& tag : tags) {
    if (!line.starts_with(tag.name) || !line.substr(tag.name.size()).starts_with(" (")) continue;
    const std::size_t end = line.rfind(") = ");
    const std::size_t begin = tag.name.size() + 2;
    if (end == line.npos || end < begin) continue;
    return Parts{line.substr(begin, end - begin), line.substr(end + 4), tag.algorithm};
  }
  return std::nullopt;
}

// "HEX  NAME", "HEX *NAME"
std::optional<Parts> untagged(std::string_view line) {
  const std::size_t digits = std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
  const auto algorithm = by_digits(digits);
  const std::string_view rest = line.substr(digits);
  if (!algorithm || rest.size() < 3 || rest[0] != ' ' || (rest[1] != ' ' && rest[1] != '*')) return std::nullopt;
  return Parts{rest.substr(2), line.substr(0, digits), *algorithm};
}

// Adds a file of the Hub's lists: by its SHA-256 if it has "lfs", otherwise by its Git blob name.
Status add_hub_file(json::Element file, std::string_view name, std::string_view blob_key, Manifest& manifest) {
  const auto lfs = json::member(file, "lfs");
  std::optional<std::string_view> sha256 = json::string_member(file, "lfs_sha256");
  if (lfs && !sha256) sha256 = json::string_member(*lfs, "sha256");
  if (lfs && !sha256) sha256 = json::string_member(*lfs, "oid");
  const auto blob = json::string_member(file, blob_key);
  if (!sha256 && !blob) return {};  // the list was fetched without blobs=true: no checksum
  const HashAlgorithm algorithm = sha256 ? HashAlgorithm::sha256 : HashAlgorithm::sha1;
  const auto digest = digest_of(algorithm, sha256 ? *sha256 : *blob);
  if (!digest)
    return refused("manifest-syntax",
                   fmt::format("the checksum of '{}' does not have 40 or 64 hexadecimal digits", name), 0);
  MU_ASSIGN(ManifestEntry entry, file_entry(name, algorithm, *digest, 0));
  entry.is_git_blob = !sha256;
  entry.bytes = lfs ? json::u64_member(*lfs, "size") : json::u64_member(file, "lfs_size");
  if (!entry.bytes) entry.bytes = json::u64_member(file, "size");
  manifest.entries.push_back(entry);
  return {};
}

std::optional<unsigned> value_of(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return std::nullopt;
}

}  // namespace

std::size_t hex_digits(HashAlgorithm algorithm) {
  return 2 * digest_bytes(algorithm);
}

std::optional<std::string> digest_of(HashAlgorithm algorithm, std::string_view hex) {
  if (hex.size() != hex_digits(algorithm)) return std::nullopt;
  std::string digest(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const std::optional<unsigned> high = value_of(hex[2 * i]), low = value_of(hex[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<char>(*high << 4 | *low);
  }
  return digest;
}

Result<bool> parse_sums_line(std::string_view line, u64 number, Manifest& manifest) {
  const bool is_escaped = line.starts_with('\\');
  if (is_escaped) line.remove_prefix(1);
  auto parts = tagged(line);
  if (!parts) parts = untagged(line);
  if (!parts) return false;
  const auto digest = digest_of(parts->algorithm, parts->hex);
  if (!digest) {
    return refused("manifest-syntax",
                   fmt::format("'{}' is not a {} checksum, which has {} hexadecimal digits", parts->hex,
                               hash_name(parts->algorithm), hex_digits(parts->algorithm)),
                   number);
  }
  std::string name(parts->name);
  if (is_escaped) {
    auto plain = unescaped(parts->name);
    if (!plain) return refused("manifest-syntax", "has an unknown escape in its name", number);
    name = std::move(*plain);
  }
  if (name.starts_with("./")) name.erase(0, 2);  // `find . -type f -exec sha256sum {} +` writes such names
  MU_ASSIGN(const ManifestEntry entry, file_entry(name, parts->algorithm, *digest, number));
  manifest.is_published = true;
  manifest.entries.push_back(entry);
  return true;
}

std::string sums_line(std::string_view hex, std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    switch (c) {
      case '\\': escaped += "\\\\"; break;
      case '\n': escaped += "\\n"; break;
      case '\r': escaped += "\\r"; break;
      default: escaped += c;
    }
  }
  return fmt::format("{}{}  {}", escaped == name ? "" : "\\", hex, escaped);
}

Result<Manifest> manifest_of_digest(std::string_view sha256, const std::string& path) {
  constexpr std::string_view prefix = "sha256:";
  const std::string_view hex = sha256.starts_with(prefix) ? sha256.substr(prefix.size()) : sha256;
  const auto digest = digest_of(HashAlgorithm::sha256, hex);
  if (!digest) return usage_error(fmt::format("--sha256 needs 64 hexadecimal digits, not '{}'", sha256));
  Manifest manifest;
  manifest.path = folder_of(path);
  manifest.is_published = true;
  manifest.wanted = "was expected";
  const std::string name = base_name_of(path);
  MU_ASSIGN(const ManifestEntry entry, file_entry(name, HashAlgorithm::sha256, *digest, 0));
  manifest.entries.push_back(entry);
  return manifest;
}

Result<bool> parse_hub_list(json::Element root, Manifest& manifest) {
  json::Array files;
  if (const auto siblings = json::array_member(root, "siblings")) {
    for (const json::Element file : *siblings) {
      const auto name = json::string_member(file, "rfilename");
      if (!name) return refused("manifest-syntax", "an entry of 'siblings' has no 'rfilename'", 0);
      MU_TRY(add_hub_file(file, *name, "blobId", manifest));
    }
    return true;
  }
  if (json::u64_member(root, "format_version")) {
    const auto listed = json::object_member(root, "files");
    if (!listed) return false;
    for (const auto& [name, file] : *listed) MU_TRY(add_hub_file(file, name, "blob_id", manifest));
    return true;
  }
  if (!root.get(files)) return false;
  for (const json::Element file : files) {
    if (json::string_member(file, "type") == "directory") continue;
    const auto name = json::string_member(file, "path");
    if (!name) return refused("manifest-syntax", "an entry of the list has no 'path'", 0);
    MU_TRY(add_hub_file(file, *name, "oid", manifest));
  }
  return true;
}

Result<bool> parse_lfs_pointer(std::string_view text, Manifest& manifest) {
  if (!text.starts_with(lfs_pointer_begin)) return false;
  ManifestEntry entry;
  entry.subject = Subject::file;
  constexpr std::string_view oid = "\noid sha256:";
  constexpr std::string_view size = "\nsize ";
  const std::size_t oid_at = text.find(oid);
  const std::size_t size_at = text.find(size);
  const auto digest = oid_at == text.npos
                          ? std::nullopt
                          : digest_of(entry.algorithm, text.substr(oid_at + oid.size(), hex_digits(entry.algorithm)));
  if (!digest || size_at == text.npos) {
    return refused("manifest-syntax", "is a Git LFS pointer without a line 'oid sha256:' or 'size'", 0);
  }
  const std::string_view digits = text.substr(size_at + size.size());
  u64 bytes = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), bytes).ec != std::errc{}) {
    return refused("manifest-syntax", "is a Git LFS pointer whose size is not a number", 0);
  }
  entry.digest = *digest;
  entry.bytes = bytes;
  manifest.entries.push_back(entry);
  return true;
}

}  // namespace modelutils
