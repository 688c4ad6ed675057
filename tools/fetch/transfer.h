// One file at an address, read by ranges with libcurl: redirects, retries and what a server may not do.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace fetch {

using u64 = std::uint64_t;
using Clock = std::chrono::steady_clock;

/// Why a range could not be had. `code` is one of the "remote-…" codes of docs/findings.md.
struct Failure {
  std::string code;
  std::string message;
  bool again = false;  ///< may pass: worth another attempt
  u64 wait = 0;        ///< seconds that the server asked for
};

/// What an address is read with.
struct Settings {
  std::string address;
  std::string token;  ///< sent to the origin of `address` alone; empty for none
  u64 silence = 10;   ///< longest time without a byte, in seconds
};

class File {
 public:
  explicit File(Settings settings);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Bytes [offset, offset + size) into `out`, fewer only at the end of the file. Tries again what may pass, within 60
  /// seconds of the first failure.
  std::optional<Failure> read(u64 offset, u64 size, std::string& out);
  /// Bytes in all, once an answer has said so.
  std::optional<u64> total() const { return total_; }

 private:
  struct Answer {
    long status = 0;
    std::map<std::string, std::string> headers;  // names in lower case
  };
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static int on_progress(void* self, curl_off_t, curl_off_t received, curl_off_t, curl_off_t);
  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* address);

  std::optional<Failure> attempt(u64 offset, u64 size, std::string& out);
  std::optional<Failure> ask(u64 offset, u64 size, std::string& out);
  std::optional<Failure> check_body();
  Failure refused(const std::string& body) const;
  std::optional<Failure> redirect();
  std::string header(const char* name) const;

  Settings settings_;
  CURL* curl_;
  std::string url_;  // where the bytes are: the address, or where it led
  bool redirected_ = false;
  std::optional<bool> first_is_private_;
  std::optional<u64> total_;
  std::string etag_;
  bool has_ranges_ = false;

  // Of the request under way.
  Answer answer_;
  u64 offset_ = 0;
  u64 wanted_ = 0;
  u64 skip_ = 0;  // bytes of a whole answer in front of `offset_`
  std::string* out_ = nullptr;
  std::string error_body_;
  std::optional<Failure> failure_;
  bool checked_ = false;
  bool enough_ = false;
  curl_off_t received_ = 0;
  std::size_t header_bytes_ = 0;
  Clock::time_point last_byte_;
};

}  // namespace fetch
