// One HTTP request and its answer, sent with libcurl or the program curl. The policies are in transfer.h: redirects,
// retries, and checks of the answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fetch/answer.h"

namespace fetch {

struct Request {
  std::string url;
  std::string range;                 ///< "0-99"; empty for the whole file
  std::vector<std::string> headers;  ///< "Name: value"
  bool without_proxy = false;
  u64 silence = 10;  ///< seconds allowed for connecting
};

/// The receiver's reply to a piece of the body.
enum class Taken {
  all,
  later,   ///< not accepted: the next work() delivers it again
  enough,  ///< no more is wanted: end the exchange
};

/// Receives an answer piece by piece.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// Called for every address that may be used, before connecting to it or reusing a connection to it. It is an IPv4 or
  /// IPv6 address without a port: the proxy's if the transport knows that one is used. Returning false ends the
  /// exchange.
  virtual bool may_connect(const std::string& address) = 0;
  /// Called for each header line, including its line end, before the body. Returning false ends the exchange.
  virtual bool take_header(std::string_view line) = 0;
  virtual Taken take_body(std::string_view bytes) = 0;
};

/// A request under way. Its destruction ends it.
class Exchange {
 public:
  /// Sends a request with the transport that this program was built with.
  static std::unique_ptr<Exchange> begin(const Request& request, Receiver& receiver);
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Waits for data, for at most this time, and passes on the available data.
  virtual void work(int milliseconds) = 0;
  /// True if the answer has ended, successfully or not, or the receiver wants no more.
  bool is_done() const { return is_done_; }
  /// The reason why an answer that has ended is incomplete.
  const std::optional<Failure>& failure() const { return failure_; }

 protected:
  Exchange() = default;
  void finish(std::optional<Failure> failure) {
    is_done_ = true;
    failure_ = std::move(failure);
  }

 private:
  bool is_done_ = false;
  std::optional<Failure> failure_;
};

/// Converts an error number of libcurl, or an exit status of the program curl, to a failure. `otherwise` is the message
/// for a number that has none in network_failure.cc.
Failure network_failure(int number, const std::string& otherwise);

}  // namespace fetch
