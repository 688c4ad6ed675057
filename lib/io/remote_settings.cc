#include "io/remote_settings.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "io/hash.h"

namespace modelutils {

namespace {

constexpr std::size_t max_token = 4096;
constexpr std::string_view token_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";

bool is_on(const char* name) {
  const auto value = environment_variable(name);
  if (!value) return false;
  for (const char* on : {"1", "ON", "YES", "TRUE"}) {
    if (::strcasecmp(value->c_str(), on) == 0) return true;
  }
  return false;
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
  return environment_variable("HOME").value_or("") + "/.cache/huggingface/token";
}

}  // namespace

RemoteSettings& remote_settings() {
  static RemoteSettings settings;
  return settings;
}

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return {};
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
    std::ifstream file(token_file());
    std::getline(file, text);
    text = trimmed(text);
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

namespace fs = std::filesystem;

constexpr std::string_view first_line = "modelutils header 1";
constexpr u64 max_bytes = u64{256} << 20;
constexpr u64 max_entry = u64{65} << 20;

// Returns the cache folder, creating it for this user only if it does not exist. Empty if that fails.
std::string folder() {
  const auto set = environment_variable("XDG_CACHE_HOME");
  const auto home = environment_variable("HOME");
  if (!set && !home) return {};
  const std::string base = set ? *set : *home + "/.cache";
  if (!base.starts_with('/')) return {};
  std::error_code failed;
  fs::create_directories(base, failed);
  const std::string ours = base + "/modelutils";
  for (const std::string& path : {ours, ours + "/headers"}) {
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) return {};
    struct stat status {};
    // Refuse a folder that belongs to another user, and links.
    if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) return {};
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 && ::chmod(path.c_str(), S_IRWXU) != 0) return {};
  }
  return ours + "/headers";
}

std::optional<std::string> read_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  struct stat status {};
  std::optional<std::string> text;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && static_cast<u64>(status.st_size) <= max_entry) {
    text.emplace(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < text->size()) {
      const ssize_t got = ::read(descriptor, text->data() + done, text->size() - done);
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    if (done < text->size()) text.reset();
  }
  ::close(descriptor);
  return text;
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
    fs::file_time_type time;
    u64 size;
    fs::path path;
  };
  std::vector<Entry> entries;
  u64 sum = more;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code gone;
    const u64 size = fs::file_size(at->path(), gone);
    if (gone) continue;
    entries.push_back({fs::last_write_time(at->path(), gone), size, at->path()});
    sum += size;
  }
  std::ranges::sort(entries, {}, &Entry::time);
  for (const Entry& entry : entries) {
    if (sum <= max_bytes) return;
    if (fs::remove(entry.path, failed)) sum -= entry.size;
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
  const auto text = read_file(path_);
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
  make_room(fs::path(path_).parent_path(), top.size() + bytes.size());
  std::string staging = path_ + "-XXXXXX";
  const int descriptor = ::mkostemp(staging.data(), O_CLOEXEC);  // mode 0600
  if (descriptor < 0) return;
  bool is_done = true;
  for (const std::string_view part :
       {std::string_view(top), std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())}) {
    std::string_view left = part;
    while (!left.empty() && is_done) {
      const ssize_t done = ::write(descriptor, left.data(), left.size());
      is_done = done > 0;
      if (is_done) left.remove_prefix(static_cast<std::size_t>(done));
    }
  }
  ::close(descriptor);
  if (!is_done || ::rename(staging.c_str(), path_.c_str()) != 0) {
    ::unlink(staging.c_str());
    return;
  }
  log_info("{}: kept {} bytes of the header", name_, bytes.size());
}

}  // namespace modelutils
