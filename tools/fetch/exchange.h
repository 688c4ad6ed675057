// One HTTP request and its answer, sent with libcurl or the program curl. The policies are in transfer.h: redirects,
// retries, and checks of the answer.
#pragma once

#include <sys/socket.h>

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
  later,   ///< not accepted: deliver it again after resume()
  enough,  ///< no more is wanted: end the exchange
};

/// Receives an answer piece by piece.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// Called before connecting, for each address that may be used; no other address is used. With a proxy, it is the
  /// proxy's address. Returning false ends the exchange.
  virtual bool may_connect(const sockaddr* address) = 0;
  /// Called for each header line, including its line end, before the body. Returning false ends the exchange.
  virtual bool take_header(std::string_view line) = 0;
  virtual Taken take_body(std::string_view bytes, long status) = 0;
};

class Exchange {
 public:
  /// Creates an exchange of the kind that this program was built with.
  static std::unique_ptr<Exchange> make();
  virtual ~Exchange() = default;

  /// Sends a request, after ending one in progress.
  virtual std::optional<Failure> begin(const Request& request, Receiver& receiver) = 0;
  /// Passes on all data received so far, without blocking.
  virtual void work() = 0;
  /// Waits for data, at most this long.
  virtual void wait(int milliseconds) = 0;
  /// Continues after Taken::later.
  virtual void resume() = 0;
  virtual void end() = 0;

  /// True if the answer has ended, successfully or not, or the receiver wants no more.
  virtual bool is_done() const = 0;
  /// Status of the answer so far; 0 if there is none.
  virtual long status() const = 0;
  /// Returns why the answer is incomplete, or nullopt. Call it only if is_done().
  virtual std::optional<Failure> failure() const = 0;
  /// Returns the connected address if may_connect() may not have checked it; else empty.
  virtual std::string peer() const = 0;
};

/// Ends the process and the programs that it started, at once.
[[noreturn]] void leave();

/// Converts an error number of libcurl, or an exit status of the program curl, to a failure. `otherwise` is the message
/// for a number that has none in network_failure.cc.
Failure network_failure(int number, const std::string& otherwise);

}  // namespace fetch
