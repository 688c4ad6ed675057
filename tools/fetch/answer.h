// What a server answered, and whether it may be used: no connection, no libcurl.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fetch {

using u64 = std::uint64_t;

/// Why bytes could not be had. `code` is one of the "remote-…" codes of docs/findings.md.
struct Failure {
  std::string code;
  std::string message;
  bool again = false;  ///< may pass: worth another attempt
  u64 wait = 0;        ///< seconds that the server asked for
};

inline constexpr u64 longest_wait = 60;                  ///< seconds that a server may ask for
inline constexpr u64 max_whole_answer = u64{256} << 20;  ///< bytes in front of a range that a server without them sends

/// A whole number without sign; nothing for anything else, and for what 64 bits do not hold.
std::optional<u64> number(std::string_view text);

/// "bytes 0-99/1234", "bytes */1234".
struct ContentRange {
  std::optional<u64> first;
  std::optional<u64> last;
  std::optional<u64> total;
};
std::optional<ContentRange> content_range(std::string_view text);

/// The status and the headers of an answer.
class Answer {
 public:
  /// Takes a line of the headers as it comes from the wire. False when there are more than 256 KiB of them.
  bool add_line(std::string_view line);
  /// The value of the header of this name (in lower case), without spaces around it; of several the last.
  std::string header(const char* name) const;

  long status = 0;

 private:
  std::map<std::string, std::string, std::less<>> headers_;
  std::size_t bytes_ = 0;
};

/// What was asked for, and what is known of the file from earlier answers.
struct Asked {
  u64 offset = 0;
  u64 size = 0;
  bool is_whole = false;  ///< without a range; `size` is the most that is taken
  bool has_ranges = false;
  std::optional<u64> total;
  std::string version;  ///< as version_of()
};

/// What tells one content of a file from another: the ETag without "W/", else the date; empty if neither is there.
std::string version_of(const Answer& answer);

/// Bytes of the whole file, if the answer (200 or 206) says it.
std::optional<u64> total_of(const Answer& answer);

/// Is an answer of status 200 or 206 what was asked for? To be asked before the first byte of its body is taken.
std::optional<Failure> check_answer(const Answer& answer, const Asked& asked);

/// What an answer of another status means. `has_token`: the request had one.
Failure refusal(const Answer& answer, bool has_token);

}  // namespace fetch
