#include "io/output_place.h"

#include <fmt/core.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "io/hash.h"
#include "io/model_folder.h"

namespace modelutils {

std::string output_place(const std::string& path) {
  const std::string absolute = path_in(os::working_folder().value_or(""), path);
  if (path.empty() || !os::is_absolute(absolute)) return path;
  // Resolve the longest part that exists.
  std::size_t end = absolute.find('/') + 1;  // at first the root
  for (std::size_t next = end - 1; next != absolute.npos;) {
    next = absolute.find('/', next + 1);
    if (!os::status(absolute.substr(0, next))) {
      if (errno != ENOENT && errno != ENOTDIR) return path;
      break;
    }
    end = std::min(next, absolute.size());
  }
  const auto resolved = os::resolve(absolute.substr(0, end));
  return resolved ? normalised(*resolved + "/" + absolute.substr(end)) : path;
}

Status refuse_output_in_cache(const std::string& path) {
  const std::string_view cache = download_cache_of(output_place(path));
  if (cache.empty()) return {};
  return output_error("out-in-cache", fmt::format("{}; write it somewhere else", in_cache_text(cache)), path);
}

namespace {

constexpr std::string_view suffix = ".tmp";

std::string prefix_of(const std::string& path) {
  std::string name = base_name_of(path);
  if (name.size() > 200) name.resize(200);  // leaves room for the suffix within NAME_MAX
  return "." + name + ".";
}

std::string eight_digits(const std::string& text) {
  const std::string digest = xxh3_digest(std::as_bytes(std::span(text)));
  std::string digits;
  for (std::size_t i = 0; i < 4; ++i) digits += fmt::format("{:02x}", static_cast<u8>(digest[i]));
  return digits;
}

const std::string& this_host() {
  static const std::string digits = eight_digits(os::machine_identity());
  return digits;
}

const std::string& this_boot() {
  static const std::string digits = eight_digits(os::boot_identity());
  return digits;
}

std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// True if the process in "HOST-BOOT-PID-N.tmp" can no longer be writing the file.
bool is_of_ended_process(std::string_view text) {
  const std::string host = this_host() + "-";
  constexpr std::size_t boot_digits = 8;
  if (!text.starts_with(host)) return false;
  text.remove_prefix(host.size());
  const std::string_view boot = text.substr(0, boot_digits);
  if (boot.size() < boot_digits || boot.find_first_not_of("0123456789abcdef") != boot.npos) return false;
  text.remove_prefix(boot_digits);
  if (!text.starts_with('-')) return false;
  text.remove_prefix(1);
  const std::optional<int> process = take_number(text);
  if (!process || *process == 0 || !text.starts_with('-')) return false;
  text.remove_prefix(1);
  if (!take_number(text) || text != suffix) return false;
  return boot != this_boot() || !os::is_running(static_cast<u64>(*process));
}

}  // namespace

std::string temporary_name(const std::string& path, int attempt) {
  return fmt::format("{}{}{}-{}-{}-{}{}", folder_of(path), prefix_of(path), this_host(), this_boot(), os::process_id(),
                     attempt, suffix);
}

void remove_abandoned(const std::string& path, unsigned owner) {
  const std::string prefix = prefix_of(path);
  const auto is_abandoned = [&](std::string_view name, EntryKind) {
    return name.starts_with(prefix) && is_of_ended_process(name.substr(prefix.size()));
  };
  const Result<DirectoryNames> names = DirectoryNames::read(folder_of(path), is_abandoned);
  if (!names) return;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const std::string file = folder_of(path) + std::string(names->name(i));
    const auto there = os::link_status(file);
    if (there && there->is_file() && (there->owner == owner || there->owner == os::user_id())) os::remove_file(file);
  }
}

Status sync_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  if (os::sync_folder(folder.empty() ? "." : folder)) return {};
  return output_error("out-sync", "its folder cannot be synced: " + errno_text(errno), path);
}

std::string copy_access(const std::string& path, int descriptor) {
  const os::LostAccess lost = os::copy_access(path, descriptor);
  if (lost.is_unexamined) {
    return "is readable by its owner only, because the file it replaces cannot be examined: " + errno_text(lost.reason);
  }
  if (lost.what.empty()) return {};
  return fmt::format("does not keep {} of the file it replaces: {}", joined(lost.what, " and "),
                     errno_text(lost.reason));
}

Status check_free_space(const std::string& path, u64 bytes) {
  if (path.empty() || path == "-") return {};
  if (const auto there = os::status(path); there && !there->is_file() && !there->is_folder()) return {};
  std::string folder = path;
  while (!os::is_folder(folder)) {
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    if (folder == "." || folder == "/") break;
    const std::string above(folder_of(folder));
    folder = above.empty() ? "." : above;
  }
  const auto space = os::free_space(folder);
  if (!space) return {};
  // Compare blocks, because their size in bytes may overflow.
  if (bytes / space->block + (bytes % space->block != 0 ? 1 : 0) <= space->blocks) return {};
  return output_error("out-space",
                      fmt::format("needs {}, but its file system has {} free: free some space, or write it elsewhere",
                                  byte_text(bytes), byte_text(space->blocks * space->block)),
                      path);
}

}  // namespace modelutils
