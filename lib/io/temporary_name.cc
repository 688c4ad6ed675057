#include "io/temporary_name.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/path.h"
#include "io/directory_names.h"

namespace modelutils {

namespace {

constexpr std::string_view suffix = ".tmp";

std::string prefix_of(const std::string& path) {
  std::string name = base_name_of(path);
  if (name.size() > 200) name.resize(200);  // room for the ending within NAME_MAX
  return "." + name + ".";
}

// The process of "PID-N.tmp".
std::optional<pid_t> process_of(std::string_view text) {
  const auto take_number = [&text]() -> std::optional<pid_t> {
    pid_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
  };
  const std::optional<pid_t> process = take_number();
  if (!process || *process == 0 || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  if (!take_number() || text != suffix) return std::nullopt;
  return process;
}

bool is_running(pid_t process) {
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

}  // namespace

std::string temporary_name(const std::string& path, int attempt) {
  return folder_of(path) + prefix_of(path) + std::to_string(::getpid()) + "-" + std::to_string(attempt) +
         std::string(suffix);
}

void remove_abandoned(const std::string& path, uid_t owner) {
  const std::string prefix = prefix_of(path);
  const auto is_abandoned = [&](std::string_view name, EntryKind) {
    if (!name.starts_with(prefix)) return false;
    const std::optional<pid_t> process = process_of(name.substr(prefix.size()));
    return process && !is_running(*process);
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
