// A temporary folder for a test, and helpers for files and programs.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::test {

/// Creates an empty folder below TMPDIR, and removes it with its contents when destroyed.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  /// path() + "/" + name
  std::string file(std::string_view name) const;
  /// Writes a file into the folder and returns its path.
  std::string write(std::string_view name, std::string_view content) const;

 private:
  std::string path_;
};

/// Returns the contents of a file. Terminates the process if it cannot be read, which is a mistake in the test.
std::string read_file(const std::string& path);

/// The project's tests/data, the optional reference data next to the project, and the folder of the built tools.
std::string data_dir();
std::string shared_dir();
std::string tools_dir();

/// True if the reference data exists. If not, call GTEST_SKIP() << skip_reason().
bool have_shared();
std::string skip_reason();

/// The result of a finished program.
struct ProgramResult {
  int status = 0;  ///< exit status; 128 + N if signal N terminated it
  std::string out;
  std::string err;
};

/// Runs a shell command line (on Windows one of cmd), with tools_dir() first in PATH and /dev/null as standard input.
ProgramResult run(const std::string& command);

}  // namespace modelutils::test
