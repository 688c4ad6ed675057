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

/// A pipe. The caller closes its ends.
struct Pipe {
  Pipe();
  int read_end = -1;
  int write_end = -1;
};

// Features that Windows lacks. Tests that need them skip themselves there.

/// True on systems that have FIFOs, devices in /dev, and permission bits.
#ifdef _WIN32
inline constexpr bool is_posix = false;
#else
inline constexpr bool is_posix = true;
#endif

/// Creates a FIFO for this user. Only with is_posix. Terminates the process if it fails.
void make_fifo(const std::string& path);

/// True if this process is root's, and not on Windows.
bool is_root();
/// Gives a file to another user. Only with is_root(). Terminates the process if it fails.
void give_to(unsigned user, const std::string& path);
inline constexpr unsigned nobody = 65534;

/// If the process runs as root, it acts as a user without rights while an object exists. Only with is_posix.
class AsNobody {
 public:
  AsNobody();
  ~AsNobody();
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
};

/// True if this process can create symbolic links. It cannot on Windows without the right to do so, and in wine. Then
/// call GTEST_SKIP() << no_links.
bool can_link();
/// Creates a symbolic link. Only with can_link(). Terminates the process if it fails.
void make_link(const std::string& target, const std::string& name);
inline constexpr const char* no_links = "this process cannot make symbolic links";

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
