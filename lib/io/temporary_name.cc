#include "io/temporary_name.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/path.h"
#include "base/types.h"
#include "io/directory_names.h"
#include "io/hash.h"

namespace modelutils {

namespace {

constexpr std::string_view suffix = ".tmp";

std::string prefix_of(const std::string& path) {
  std::string name = base_name_of(path);
  if (name.size() > 200) name.resize(200);  // leaves room for the suffix within NAME_MAX
  return "." + name + ".";
}

// Returns the first bytes of a system file; empty if there is none.
std::string system_text(const char* path) {
  char text[64];
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const ssize_t size = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

std::string eight_digits(const std::string& text) {
  const std::string digest = xxh3_digest(std::as_bytes(std::span(text)));
  std::string digits;
  for (std::size_t i = 0; i < 4; ++i) digits += fmt::format("{:02x}", static_cast<u8>(digest[i]));
  return digits;
}

// Process ids are unique only within one PID namespace of one machine.
const std::string& this_host() {
  static const std::string digits = [] {
    struct utsname host {};
    struct stat processes {};
    std::string text = system_text("/etc/machine-id");
    if (::uname(&host) == 0) text += host.nodename;
    if (::stat("/proc/self/ns/pid", &processes) == 0) text += std::to_string(processes.st_ino);
    return eight_digits(text);
  }();
  return digits;
}

const std::string& this_boot() {
  static const std::string digits = eight_digits(system_text("/proc/sys/kernel/random/boot_id"));
  return digits;
}

bool is_running(pid_t process) {
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

std::optional<pid_t> take_number(std::string_view& text) {
  pid_t number = 0;
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
  const std::optional<pid_t> process = take_number(text);
  if (!process || *process == 0 || !text.starts_with('-')) return false;
  text.remove_prefix(1);
  if (!take_number(text) || text != suffix) return false;
  return boot != this_boot() || !is_running(*process);
}

}  // namespace

std::string temporary_name(const std::string& path, int attempt) {
  return fmt::format("{}{}{}-{}-{}-{}{}", folder_of(path), prefix_of(path), this_host(), this_boot(), ::getpid(),
                     attempt, suffix);
}

void remove_abandoned(const std::string& path, uid_t owner) {
  const std::string prefix = prefix_of(path);
  const auto is_abandoned = [&](std::string_view name, EntryKind) {
    return name.starts_with(prefix) && is_of_ended_process(name.substr(prefix.size()));
  };
  const Result<DirectoryNames> names = DirectoryNames::read(folder_of(path), is_abandoned);
  if (!names) return;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const std::string file = folder_of(path) + std::string(names->name(i));
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (status.st_uid == owner || status.st_uid == ::geteuid()) ::unlink(file.c_str());
  }
}

}  // namespace modelutils
