// Reads a file at an address by ranges: redirects, retries and timeouts. The HTTP implementation is behind exchange.h.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "fetch/answer.h"
#include "fetch/exchange.h"

namespace fetch {

using Clock = std::chrono::steady_clock;

/// The settings shared by all files of a run.
struct Session {
  u64 silence = 10;                                     ///< longest time without data, in seconds
  bool allow_private_redirect = false;                  ///< allow redirects from a public server to a private address
  void (*deliver)(const std::string& bytes) = nullptr;  ///< receives the bytes of a read in progress, in order
};

class File : private Receiver {
 public:
  /// `token` is sent only to the origin of `address`; empty for none.
  File(Session& session, std::string address, std::string token);
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Appends bytes [offset, offset + size) to `out`, fewer only at the end of the file. Retries temporary failures
  /// within 60 seconds of the first. Bytes already passed to Session::deliver are not in `out`.
  std::optional<Failure> read(u64 offset, u64 size, std::string& out);
  /// Reads a whole answer of at most `most` bytes, without ranges, for an answer that is not a file.
  std::optional<Failure> read_whole(u64 most, std::string& out);

  /// Returns the size of the file in bytes, once an answer has given it.
  std::optional<u64> total() const { return asked_.total; }
  /// See version_of().
  const std::string& version() const { return asked_.version; }
  /// X-Repo-Commit of the first answer that had one.
  const std::string& commit() const { return commit_; }

 private:
  bool may_connect(const std::string& address) override;
  bool take_header(std::string_view line) override;
  Taken take_body(std::string_view bytes) override;

  std::optional<Failure> insist(std::string& out);
  std::optional<Failure> attempt(std::string& out);
  void begin();
  Request request() const;
  std::optional<Failure> drive();
  std::optional<Failure> redirect();
  bool sends_token() const;
  bool is_full() const;
  u64 arrived() const;
  void deliver();
  void tell_of_slowness(Clock::time_point now);
  void take(const char* data, std::size_t bytes);

  Session& session_;
  const std::string address_;
  const std::string token_;
  std::string url_;  // current URL: the address, or the target of its redirects
  bool is_redirected_ = false;
  std::optional<bool> first_is_private_;
  std::string commit_;
  Asked asked_;
  bool is_strong_ = false;  // the version identifies the exact bytes, so If-Range may use it

  // State since the first failure that is not forgotten yet.
  std::optional<Clock::time_point> trouble_;
  int failures_ = 0;
  bool has_stalled_ = false;
  bool has_answered_ = false;  // the host is known
  bool is_slowness_told_ = false;
  u64 arrived_since_ = 0;

  // State of the request in progress or last ended, or of an answer without ranges that later reads continue.
  bool is_checked_ = false;
  Answer answer_;
  std::optional<Failure> failure_;
  u64 position_ = 0;     // offset in the file of the next byte of the body
  std::string pending_;  // bytes received beyond the requested ones, from an answer without ranges
  std::string error_body_;
  std::string* out_ = nullptr;
  u64 delivered_ = 0;  // bytes of this attempt that were delivered and removed from *out_
  u64 received_ = 0;
  Clock::time_point last_byte_;
  Clock::time_point deadline_;
  std::unique_ptr<Exchange> exchange_;  // last, so that it is destroyed before the members that it writes to
};

}  // namespace fetch
