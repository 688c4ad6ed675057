#include "support/temp_dir.h"

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#else
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/os/files.h"
#include "base/os/sharing.h"

namespace modelutils::test {

TempDir::TempDir() {
  std::random_device number;
  do {
    path_ = (std::filesystem::temp_directory_path() / ("modelutils-" + std::to_string(number()))).generic_string();
  } while (!std::filesystem::create_directory(path_));
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::file(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

std::string TempDir::write(std::string_view name, std::string_view content) const {
  const std::string target = file(name);
  std::filesystem::create_directories(std::filesystem::path(target).parent_path());
  std::ofstream out(target, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!out.flush()) std::abort();
  return target;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::abort();
  }
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

#ifdef _WIN32
Pipe::Pipe() {
  int ends[2];
  if (::_pipe(ends, 1 << 16, _O_BINARY | _O_NOINHERIT) != 0) std::abort();
  read_end = ends[0];
  write_end = ends[1];
}

void make_fifo(const std::string&) {
  std::abort();
}

bool is_root() {
  return false;
}

void give_to(unsigned, const std::string&) {
  std::abort();
}

AsNobody::AsNobody() {
  std::abort();
}
AsNobody::~AsNobody() = default;

bool can_link() {
  static const bool is_able = [] {
    const TempDir folder;
    const std::string name = folder.file("link");
    if (!os::symbolic_link("target", name)) return false;
    const auto made = os::link_status(name);  // wine reports success and makes none
    return made && made->is_link();
  }();
  return is_able;
}
#else
Pipe::Pipe() {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  read_end = ends[0];
  write_end = ends[1];
}

void make_fifo(const std::string& path) {
  constexpr mode_t for_owner = 0600;
  if (::mkfifo(path.c_str(), for_owner) != 0) std::abort();
}

bool is_root() {
  return ::getuid() == 0;
}

void give_to(unsigned user, const std::string& path) {
  if (::chown(path.c_str(), user, 0) != 0) std::abort();
}

AsNobody::AsNobody() {
  if (is_root() && ::seteuid(nobody) != 0) std::abort();
}
AsNobody::~AsNobody() {
  if (is_root() && ::seteuid(0) != 0) std::abort();
}

bool can_link() {
  return true;
}
#endif

void make_link(const std::string& target, const std::string& name) {
  if (!os::symbolic_link(target, name)) std::abort();
}

bool have_shared() {
  return std::filesystem::exists(shared_dir() + "/corpus");
}
std::string skip_reason() {
  return std::string("no reference data at ") + shared_dir();
}

ProgramResult run(const std::string& command) {
  const TempDir folder;
  ProgramResult result;
  const std::string out = folder.file("out"), err = folder.file("err");
#ifdef _WIN32
  std::string tools = tools_dir();
  std::replace(tools.begin(), tools.end(), '/', '\\');
  result.status =
      std::system(("set PATH=" + tools + ";%PATH%&& " + command + " <NUL >\"" + out + "\" 2>\"" + err + "\"").c_str());
#else
  const std::string line =
      "export PATH='" + tools_dir() + "':\"$PATH\"; { " + command + "\n} </dev/null >" + out + " 2>" + err;
  const int status = std::system(line.c_str());
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
#endif
  result.out = read_file(out);
  result.err = read_file(err);
  return result;
}

}  // namespace modelutils::test
