// A folder that lives as long as a test, and small helpers around files.
#pragma once

#include <string>
#include <string_view>

namespace modelutils::test {

/// Creates an empty folder below TMPDIR and removes it with all its content at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  /// path() + "/" + name
  std::string file(std::string_view name) const;
  /// Writes a file into the folder and gives its path.
  std::string write(std::string_view name, std::string_view content) const;

 private:
  std::string path_;
};

/// The whole content of a file; fails the process if it cannot be read (a test's own mistake).
std::string read_file(const std::string& path);

/// The project's tests/data, the reference data that may lie beside the project, and the built tools.
std::string data_dir();
std::string shared_dir();
std::string tools_dir();

/// Is the reference data there? If not, call GTEST_SKIP() << skip_reason().
bool have_shared();
std::string skip_reason();

/// What a finished program left behind.
struct ProgramResult {
  int status = 0;  ///< exit status; 128 + N if signal N ended it
  std::string out;
  std::string err;
};

/// Runs a shell command line; tools_dir() comes first in its PATH. Standard input is /dev/null.
ProgramResult run(const std::string& command);

}  // namespace modelutils::test
