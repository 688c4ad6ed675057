// One file at an address, read by ranges: redirects, retries, limits of time. Whoever speaks HTTP is behind exchange.h.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "fetch/answer.h"
#include "fetch/exchange.h"

namespace fetch {

using Clock = std::chrono::steady_clock;

/// What all files of a run have in common: what the user allows.
struct Session {
  u64 silence = 10;                     ///< longest time without a byte, in seconds
  bool allow_private_redirect = false;  ///< a redirect may lead from a public server to a private address
  void (*deliver)(const std::string& bytes) = nullptr;  ///< takes bytes of a read that goes on, in order
};

class File : private Receiver {
 public:
  /// `token` is sent to the origin of `address` alone; empty for none.
  File(Session& session, std::string address, std::string token);
  ~File() override;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Bytes [offset, offset + size) into `out`, fewer only at the end of the file. Tries again what may pass, within 60
  /// seconds of the first failure. What Session::deliver has taken of a long range by then is not in `out`.
  std::optional<Failure> read(u64 offset, u64 size, std::string& out);
  /// The whole answer, at most `most` bytes, for an answer that is not a file: never by ranges.
  std::optional<Failure> read_whole(u64 most, std::string& out);

  /// Bytes in all, once an answer has said so.
  std::optional<u64> total() const { return asked_.total; }
  /// As version_of().
  const std::string& version() const { return asked_.version; }
  /// X-Repo-Commit of the first answer that had one.
  const std::string& commit() const { return commit_; }

 private:
  bool may_connect(const sockaddr* address) override;
  bool take_header(std::string_view line) override;
  Taken take_body(std::string_view bytes, long status) override;

  std::optional<Failure> insist(std::string& out);
  std::optional<Failure> attempt(std::string& out);
  std::optional<Failure> begin();
  Request request() const;
  std::optional<Failure> drive();
  std::optional<Failure> redirect();
  bool sends_token() const;
  bool leads_inside(bool is_inside) const;
  std::optional<Failure> check_place();
  bool is_full() const;
  u64 arrived() const;
  void deliver();
  void take(const char* data, std::size_t bytes);
  void stop();

  Session& session_;
  const std::string address_;
  const std::string token_;
  const std::unique_ptr<Exchange> exchange_;
  std::string url_;  // where the bytes are: the address, or where it led
  bool is_redirected_ = false;
  std::optional<bool> first_is_private_;
  std::string commit_;
  Asked asked_;
  bool is_strong_ = false;  // the version vouches for bytes, so that If-Range may have it

  // Since the first failure of those that are not forgotten.
  std::optional<Clock::time_point> trouble_;
  int failures_ = 0;
  bool has_stalled_ = false;
  u64 arrived_since_ = 0;

  // Of the request under way, or of the answer without ranges that is read on.
  bool is_running_ = false;
  bool is_done_ = false;
  bool is_checked_ = false;
  bool is_paused_ = false;
  Answer answer_;
  std::optional<Failure> failure_;
  u64 position_ = 0;     // in the file, of the next byte of the body
  std::string pending_;  // of an answer without ranges: what came beyond what was asked for
  std::string error_body_;
  std::string* out_ = nullptr;
  u64 delivered_ = 0;  // bytes of this attempt that are no longer in *out_
  u64 received_ = 0;
  Clock::time_point last_byte_;
  Clock::time_point deadline_;
};

}  // namespace fetch
