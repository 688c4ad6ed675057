// Starts programs from PATH and reads their output.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace fetch {

/// A running program with pipes to its standard input and from its standard output and descriptor 3. Its standard error
/// is discarded.
class Program {
 public:
  Program() = default;
  ~Program() { end(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Starts the program with `input` on its standard input. Returns 0 or the errno value (ENOENT: not in PATH). Removes
  /// the variables that name proxies from its environment.
  int start(const std::vector<std::string>& arguments, const std::string& input);
  /// Ends the program if it is still running.
  void end();
  /// Waits for its end. Returns its exit status, or nullopt if a signal ended it.
  std::optional<int> status();

  int output() const { return output_; }
  int notes() const { return notes_; }
  void close_output();
  void close_notes();

 private:
  pid_t process_ = 0;
  int output_ = -1;
  int notes_ = -1;
};

/// Ends all running programs.
void end_programs();

/// A program's output and exit status. ask_program() returns nullopt if the program does not end within `seconds`, is
/// ended by a signal, or writes more than 64 KiB.
struct Said {
  int error = 0;  ///< the errno value if the program could not be started
  int status = 0;
  std::string output;
};
std::optional<Said> ask_program(const std::vector<std::string>& arguments, unsigned seconds);

}  // namespace fetch
