// One request and its answer, by whatever speaks HTTP here: libcurl, or the program curl. The rules are not in here:
// redirects, retries, what an answer may be (transfer.h).
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
  std::string range;                 ///< "0-99"; empty for all
  std::vector<std::string> headers;  ///< "Name: value"
  bool without_proxy = false;
  u64 silence = 10;  ///< longest time for a connection to be made, in seconds
};

/// What becomes of a piece of the body.
enum class Taken {
  all,
  later,   ///< none of it: it comes again after resume()
  enough,  ///< and no more is wanted: the exchange ends
};

/// Takes an answer as it comes.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// Before a connection is made, for each address that may be connected to: no other one will be. Behind a proxy it is
  /// the proxy's. False ends the exchange.
  virtual bool may_connect(const sockaddr* address) = 0;
  /// A line, with its end, before the first byte of the body. False ends the exchange.
  virtual bool take_header(std::string_view line) = 0;
  virtual Taken take_body(std::string_view bytes, long status) = 0;
};

class Exchange {
 public:
  /// Of the one kind that this program has.
  static std::unique_ptr<Exchange> make();
  virtual ~Exchange() = default;

  /// Sends a request; one that was under way ends.
  virtual std::optional<Failure> begin(const Request& request, Receiver& receiver) = 0;
  /// Hands on what has come, and returns at once.
  virtual void work() = 0;
  /// Until something comes, at most so long.
  virtual void wait(int milliseconds) = 0;
  /// After Taken::later.
  virtual void resume() = 0;
  virtual void end() = 0;

  /// The answer has ended, well or not, or the receiver wanted no more.
  virtual bool is_done() const = 0;
  /// Of the answer, so far as it has come; 0 for none.
  virtual long status() const = 0;
  /// Why there is no whole answer. Only when it is done.
  virtual std::optional<Failure> failure() const = 0;
  /// The address that was connected to, where it may be one that may_connect() was not asked about; else empty.
  virtual std::string peer() const = 0;
};

/// Ends the process at once, and whatever it has started.
[[noreturn]] void leave();

/// What the number means with which libcurl, or the program curl, says why there is no answer; `otherwise` for those
/// that need no words of ours.
Failure network_failure(int number, const std::string& otherwise);

}  // namespace fetch
