#include "io/remote_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "base/path.h"
#include "io/hash.h"

namespace modelutils {

namespace {

constexpr std::size_t max_token = 4096;
constexpr std::string_view token_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";

bool is_on(const char* name) {
  std::string value = environment_variable(name).value_or("");
  for (char& c : value) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(space) - first + 1));
}

std::string token_file() {
  if (const auto path = environment_variable("HF_TOKEN_PATH")) return *path;
  if (const auto home = environment_variable("HF_HOME")) return *home + "/token";
  if (const auto cache = environment_variable("XDG_CACHE_HOME")) return *cache + "/huggingface/token";
  return os::home_folder() + "/.cache/huggingface/token";
}

// Returns the bytes of a regular file; nullopt if it has more than `most` or cannot be read.
std::optional<std::string> read_file(const std::string& path, unsigned flags, u64 most) {
  const int descriptor = os::open(path, os::reading | os::no_wait | flags);
  if (descriptor < 0) return std::nullopt;
  std::optional<std::string> text;
  const auto status = os::status(descriptor);
  if (status && status->is_file() && status->size <= most) {
    text.emplace(static_cast<std::size_t>(status->size), '\0');
    std::size_t done = 0;
    while (done < text->size()) {
      const i64 got = os::read(descriptor, text->data() + done, text->size() - done);
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    if (done < text->size()) text.reset();
  }
  os::close(descriptor);
  return text;
}

}  // namespace

RemoteSettings& remote_settings() {
  static RemoteSettings settings;
  return settings;
}

std::optional<std::string> environment_variable(const char* name) {
  auto value = os::environment(name);
  if (value && value->empty()) value.reset();
  return value;
}

std::optional<u64> whole_number(std::string_view text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string hub_token() {
  if (is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return {};
  std::string text;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (text.empty()) text = trimmed(environment_variable(name).value_or(""));
  }
  if (text.empty()) {
    constexpr u64 most = 64 << 10;
    text = read_file(token_file(), 0, most).value_or("");
    text = trimmed(text.substr(0, text.find('\n')));
  }
  const bool is_plain = text.find_first_not_of(token_characters) == std::string::npos;
  return is_plain && text.size() <= max_token ? text : std::string();
}

Status check_online() {
  for (const char* name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
    if (is_on(name)) return input_error("remote-offline", fmt::format("is an address, and {} is set", name));
  }
  return {};
}

u64 longest_silence() {
  constexpr u64 usual = 10;
  const auto seconds = remote_settings().timeout
                           ? remote_settings().timeout
                           : whole_number(environment_variable("HF_HUB_DOWNLOAD_TIMEOUT").value_or(""));
  return seconds ? std::clamp<u64>(*seconds, 1, most_silence) : usual;
}

namespace {

constexpr std::string_view first_line = "modelutils header 1";
constexpr u64 max_bytes = u64{256} << 20;
constexpr u64 max_entry = u64{65} << 20;

// Returns the cache folder, creating it for this user only if it does not exist. Empty if that fails.
std::string folder() {
  const auto set = environment_variable("XDG_CACHE_HOME");
  const std::string home = os::home_folder();
  if (!set && home.empty()) return {};
  const std::string base = os::from_native(set ? *set : home + "/.cache");
  if (!os::is_absolute(base)) return {};
  for (std::size_t end = base.find('/', 1); !os::is_folder(base); end = base.find('/', end + 1)) {
    os::make_folder(base.substr(0, end), 0777);
    if (end == base.npos) break;
  }
  const std::string ours = base + "/modelutils";
  for (const std::string& path : {ours, ours + "/headers"}) {
    constexpr unsigned owner_only = 0700, others = 0077;
    if (!os::make_folder(path, owner_only) && errno != EEXIST) return {};
    // Refuse a folder that belongs to another user, and links.
    const auto there = os::link_status(path);
    if (!there || !there->is_folder() || there->owner != os::user_id()) return {};
    if ((there->mode & others) != 0 && !os::set_mode(path, owner_only)) return {};
  }
  return ours + "/headers";
}

std::string_view take_line(std::string_view& text) {
  const auto end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

// Removes the oldest entries until `more` bytes fit.
void make_room(const std::string& folder, u64 more) {
  struct Entry {
    i64 time;
    u64 size;
    std::string path;
  };
  std::vector<Entry> entries;
  u64 sum = more;
  os::list(folder, [&](std::string_view name, os::EntryKind) {
    std::string path = path_in(folder, name);
    if (const auto there = os::status(path); there && there->is_file()) {
      entries.push_back({there->modified, there->size, std::move(path)});
      sum += there->size;
    }
    return true;
  });
  std::ranges::sort(entries, {}, &Entry::time);
  for (const Entry& entry : entries) {
    if (sum <= max_bytes) return;
    if (os::remove_file(entry.path)) sum -= entry.size;
  }
}

std::string entry_name(const std::string& url) {
  std::string name;
  for (const char byte : xxh3_digest(std::as_bytes(std::span(url)))) {
    name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return name;
}

}  // namespace

HeaderCache::HeaderCache(const std::string& url, std::string name)
    : url_(url.substr(0, url.find_first_of("?#"))), name_(std::move(name)) {
  if (remote_settings().no_cache) return;
  // The query may identify the file and may be secret, so only its digest is stored.
  if (const std::string at = folder(); !at.empty()) path_ = at + "/" + entry_name(url.substr(0, url.find('#')));
}

std::optional<CachedHeader> HeaderCache::find(const std::string& version, std::optional<u64> total) const {
  if (path_.empty()) return std::nullopt;
  const auto text = read_file(path_, os::no_link, max_entry);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  CachedHeader header;
  if (take_line(rest) != first_line) return std::nullopt;
  (void)take_line(rest);  // skips the name
  if (take_line(rest) != url_) return std::nullopt;
  header.version = take_line(rest);
  const auto whole = whole_number(take_line(rest));
  const auto size = whole_number(take_line(rest));
  const bool is_meant = (version.empty() || version == header.version) && (!total || total == whole);
  if (!whole || !size || *size != rest.size() || *size > *whole || !is_meant) return std::nullopt;
  header.total = *whole;
  const auto bytes = std::as_bytes(std::span(rest));
  header.bytes.assign(bytes.begin(), bytes.end());
  return header;
}

void HeaderCache::keep(const std::string& version, u64 total, std::span<const std::byte> bytes) const {
  if (path_.empty() || version.empty()) return;
  const std::string top =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", first_line, name_, url_, version, total, bytes.size());
  make_room(parent_of(path_), top.size() + bytes.size());
  static std::atomic<unsigned> number = 0;
  const std::string staging = fmt::format("{}-{}-{}", path_, os::process_id(), number++);
  const int descriptor = os::create(staging, 0600);
  if (descriptor < 0) return;
  bool is_done = true;
  for (const std::string_view part :
       {std::string_view(top), std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())}) {
    std::string_view left = part;
    while (!left.empty() && is_done) {
      const i64 done = os::write(descriptor, left.data(), left.size());
      is_done = done > 0;
      if (is_done) left.remove_prefix(static_cast<std::size_t>(done));
    }
  }
  os::close(descriptor);
  if (!is_done || !os::rename(staging, path_)) {
    os::remove_file(staging);
    return;
  }
  log_info("{}: kept {} bytes of the header", name_, bytes.size());
}

}  // namespace modelutils
