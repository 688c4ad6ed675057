#include "support/temp_dir.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace modelutils::test {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "modelutils-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
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

bool have_shared() {
  return std::filesystem::exists(shared_dir() + "/corpus");
}
std::string skip_reason() {
  return std::string("no reference data at ") + shared_dir();
}

ProgramResult run(const std::string& command) {
  const TempDir folder;
  const std::string line = "export PATH='" + tools_dir() + "':\"$PATH\"; { " + command + "\n} </dev/null >" +
                           folder.file("out") + " 2>" + folder.file("err");
  const int status = std::system(line.c_str());
  ProgramResult result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_file(folder.file("out"));
  result.err = read_file(folder.file("err"));
  return result;
}

}  // namespace modelutils::test
