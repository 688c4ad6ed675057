// Other programs, and the network's names and numbers: the only calls of the operating system that concern them. As in
// base/os/files.h, failing functions set errno, and texts are UTF-8.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/integers.h"

namespace modelutils::os {

/// True if PATH has a program of that name. (Windows: false, as there is no pager.)
bool is_installed(const std::string& program);
/// Starts a shell command that reads everything this process writes to standard output from now on, and ignores Ctrl-C
/// from then on. Returns false on failure, and always on Windows.
bool begin_pager(const std::string& command);
/// Closes standard output and waits until the pager ends.
void end_pager();

/// A program to which we talk over its standard input and output.
class Partner {
 public:
  struct Command {
    std::string program;             ///< a path, or without '/' a name to look for in PATH (Windows: without ".exe")
    std::vector<std::string> words;  ///< its arguments, beginning with its own name
    bool is_quiet = false;           ///< its standard error is discarded
    int buffer = 0;                  ///< bytes that it may send before we receive them; 0: the system's default
  };

  Partner();
  /// Closes the connection, which makes the program end, and waits for it.
  ~Partner();
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  /// Starts the program, killing one started before. Returns 0 or the errno value (ENOENT: there is no such program).
  int start(const Command& command);
  /// Sends all bytes; false if the connection is broken.
  bool send(std::string_view text);
  /// Closes the program's standard input.
  void end_input();
  /// Receives all bytes; false if the connection is broken.
  bool receive(void* out, std::size_t size);
  /// Waits for output for at most this time, and receives the available bytes. Returns their number, 0 at the end of
  /// the output, or nullopt on a timeout.
  std::optional<std::size_t> receive_some(void* out, std::size_t size, int milliseconds);
  /// Waits until the program ends. Returns its exit status; nullopt if it was killed, or if none was started.
  std::optional<int> status();
  /// Kills the program.
  void kill();

 private:
  struct Talk;
  std::unique_ptr<Talk> talk_;
};

/// For a program started by a Partner: waits, for at most this time, until the other side has closed the connection or
/// has ended. Returns false if it has not.
bool is_abandoned(int milliseconds);

// Networks.

/// Returns the bytes of an IPv6 address, or of an IPv4 one as ::ffff:a.b.c.d; nullopt if the text is neither.
std::optional<std::array<u8, 16>> address_bytes(const std::string& text);
/// Returns the text of a `sockaddr`, without its port. (Not on Windows, which has no libcurl.)
std::optional<std::string> address_text(const void* address, std::size_t size);
/// Returns a new socket. The arguments have the system's values. (Not on Windows.)
int open_socket(int family, int type, int protocol);
/// True if host_addresses() works. On other systems the program getent looks up names, because statically linked
/// programs cannot do so with glibc.
bool resolves_hosts();
/// Returns the addresses of a host, in the system's order; empty if the name is unknown. Blocks until the system's
/// lookup ends. (Windows only.)
std::vector<std::string> host_addresses(const std::string& host);

}  // namespace modelutils::os
