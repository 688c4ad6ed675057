// Programs of the PATH that are started here, and what they write.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace fetch {

/// A program with pipes to its standard input and from its standard output, and one from its descriptor 3. What it says
/// on standard error is lost.
class Program {
 public:
  Program() = default;
  ~Program() { end(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Starts it with what it may read; the number of the error (ENOENT: there is none of this name in the PATH), or 0.
  /// No variable that names a proxy is in its environment.
  int start(const std::vector<std::string>& arguments, const std::string& input);
  /// Ends it, if it has not ended.
  void end();
  /// Waits until it has ended: its status, or nothing if a signal ended it.
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

/// Ends all that run.
void end_programs();

/// What a program writes, and its status; nothing if it does not end in so many seconds or writes more than 64 KiB.
struct Said {
  int error = 0;  ///< the number of the error with which it did not start
  int status = 0;
  std::string output;
};
std::optional<Said> ask_program(const std::vector<std::string>& arguments, unsigned seconds);

}  // namespace fetch
