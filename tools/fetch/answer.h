// A server's answer and the checks on it. Independent of connections and of libcurl.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fetch {

using u64 = std::uint64_t;

/// The reason why a request failed. `code` is one of the "remote-…" codes in docs/findings.md.
struct Failure {
  std::string code;
  std::string message;
  bool again = false;  ///< probably temporary: worth another attempt
  u64 wait = 0;        ///< seconds to wait, if the server asked for a delay
  /// The name of the host has no address: most likely mistyped, unless the host has answered before.
  bool is_unknown_host = false;
};

inline constexpr u64 longest_wait = 60;                  ///< longest accepted delay in seconds
inline constexpr u64 max_whole_answer = u64{256} << 20;  ///< most bytes skipped before a range, without range support

/// Parses an unsigned decimal number. Returns nullopt for any other text and for numbers beyond 64 bits.
std::optional<u64> number(std::string_view text);

/// A Content-Range header: "bytes 0-99/1234", "bytes */1234".
struct ContentRange {
  std::optional<u64> first;
  std::optional<u64> last;
  std::optional<u64> total;
};
std::optional<ContentRange> content_range(std::string_view text);

/// The status and headers of an answer.
class Answer {
 public:
  /// Adds a status line, which begins an answer, or a header line as received. Returns false if they exceed 256 KiB.
  bool add_line(std::string_view line);
  /// Returns the value of the header `name` (lower case) without surrounding spaces, or empty. The last one wins.
  std::string header(const char* name) const;

  long status = 0;  ///< 0 before the status line

 private:
  std::map<std::string, std::string, std::less<>> headers_;
  std::size_t bytes_ = 0;
};

/// A request, and the facts about the file known from earlier answers.
struct Asked {
  u64 offset = 0;
  u64 size = 0;
  bool is_whole = false;  ///< no range; `size` is the maximum number of bytes
  bool has_ranges = false;
  std::optional<u64> total;
  std::string version;  ///< as returned by version_of()
};

/// Identifies a version of the file: the ETag without "W/", else the date, else empty.
std::string version_of(const Answer& answer);

/// Returns the size of the whole file if the answer (200 or 206) gives it.
std::optional<u64> total_of(const Answer& answer);

/// Checks that an answer with status 200 or 206 matches the request. Call it before using the first byte of the body.
std::optional<Failure> check_answer(const Answer& answer, const Asked& asked);

/// Returns the failure for an answer with any other status. `has_token`: the request had a token.
Failure refusal(const Answer& answer, bool has_token);

}  // namespace fetch
