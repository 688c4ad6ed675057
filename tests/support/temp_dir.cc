#include "support/temp_dir.h"

#ifndef _WIN32
#include <sys/wait.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

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
