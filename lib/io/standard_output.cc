#include "io/standard_output.h"

#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <optional>

namespace modelutils {

namespace {

struct Guarded {
  dev_t device;
  ino_t inode;
  bool has_content;
};

std::optional<Guarded> guarded;  // set before threads start
std::mutex mutex;
std::optional<Error> conflict;

}  // namespace

void guard_standard_output() {
  struct stat status {};
  // Pipes and terminals may be both read and written.
  if (::fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return;
  guarded = Guarded{status.st_dev, status.st_ino, status.st_size > 0};
}

Status refuse_standard_output(const struct stat& status, const std::string& path) {
  if (!guarded || status.st_dev != guarded->device || status.st_ino != guarded->inode) return {};
  auto refused =
      output_error("out-is-input",
                   "is one of the inputs, but standard output is redirected to it; redirect it to another file", path);
  const std::lock_guard lock(mutex);
  if (!conflict) conflict = refused.value();
  return refused;
}

Status compare_inputs(const std::vector<std::string>& paths, const std::function<void(const std::string&)>& open) {
  // With a single path, the tool opens it before it writes. If standard output was empty, an input that is the same
  // file holds nothing of value.
  if (!guarded || !guarded->has_content) return {};
  std::error_code ignored;
  if (paths.size() < 2 && !std::filesystem::is_directory(paths.front(), ignored)) return {};
  for (const std::string& path : paths) {
    struct stat status {};
    if (path == "-") {
      if (::fstat(STDIN_FILENO, &status) == 0) MU_TRY(refuse_standard_output(status, "standard input"));
    } else if (::stat(path.c_str(), &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) {
      open(path);
      MU_TRY(standard_output_is_no_input());
    }
  }
  return {};
}

Status standard_output_is_no_input() {
  if (!guarded) return {};
  const std::lock_guard lock(mutex);
  if (conflict) return tl::make_unexpected(*conflict);
  return {};
}

}  // namespace modelutils
