// Sends requests with the program curl, for statically linked builds, which cannot resolve names, and for Windows,
// which brings curl. Each request is one run of curl. It gets its settings on standard input, so that the token does
// not appear in process lists, and does not follow redirects. It may connect only to addresses that getent (on Windows
// this program) resolved and the receiver accepted, or to a proxy that the environment names.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <sstream>

#include "base/os/process.h"
#include "base/os/programs.h"
#include "fetch/exchange.h"
#include "fetch/place.h"
#include "fetch/url.h"

namespace fetch {

namespace os = modelutils::os;

namespace {

constexpr std::size_t most_read = 64 << 10;
constexpr std::size_t max_line = 64 << 10;
// Exit statuses of curl: curl(1), "EXIT CODES".
constexpr int malformed = 3;
constexpr int name_is_unknown = 6;
constexpr int not_connected = 7;
constexpr int nothing_came = 52;

// Formats a line of curl's settings: curl(1), "--config". Drops control characters.
std::string setting(const char* name, const std::string& value) {
  std::string line = std::string(name) + " = \"";
  for (const char c : value) {
    if (c == '"' || c == '\\') line += '\\';
    if (static_cast<unsigned char>(c) >= ' ' && c != '\x7F') line += c;
  }
  return line + "\"\n";
}

// Returns the addresses in the output of `getent ahosts`, which repeats each for several kinds of sockets.
std::vector<std::string> addresses_in(const std::string& said) {
  std::vector<std::string> all;
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    const std::string address = line.substr(0, line.find_first_of(" \t"));
    if (is_address(address) && std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
  }
  return all;
}

// A command that prints the addresses of a host, one at the start of each line.
os::Partner::Command resolver(const std::string& host) {
  if (os::resolves_hosts())
    return {.program = os::own_program(), .words = {"fetch", "addresses", host}, .is_quiet = true};
  return {.program = "getent", .words = {"getent", "ahosts", host}, .is_quiet = true};
}

// The addresses of the hosts that were resolved; none for an unknown name. A failed request removes its host.
std::map<std::string, std::vector<std::string>>& known() {
  static std::map<std::string, std::vector<std::string>> addresses;
  return addresses;
}

// True for texts that curl might read as another host than getent does: numbers that are not in an address's usual form
// (2130706433, 127.1, 0x7f.1) and names that end in a dot.
bool is_ambiguous(const Url& url) {
  const std::string last = url.host.substr(url.host.rfind('.') + 1);
  const bool is_number = last.find_first_not_of("0123456789abcdefx") == std::string::npos && last[0] <= '9';
  return last.empty() || url.host[0] == '-' || (is_number && !is_address(url.host));
}

class ProgramExchange : public Exchange {
 public:
  ProgramExchange(const Request& request, Receiver& receiver) : request_(request), receiver_(receiver) { begin(); }
  ~ProgramExchange() override { program_.kill(); }

  void work(int milliseconds) override {
    // The part of a body that the receiver did not accept; it is offered again before more is read.
    const bool is_end = (buffer_.empty() || !has_headers_) && !read(milliseconds);
    if (!is_sent_) {
      const auto patience = std::chrono::milliseconds(750) * request_.silence;
      if (is_end || Clock::now() - begun_ > patience) resolve();
      return;
    }
    while (!has_headers_) {
      const std::size_t end = buffer_.find('\n');
      if (end == std::string::npos && buffer_.size() < max_line) break;
      if (!take_line(buffer_.substr(0, end == std::string::npos ? end : end + 1))) return finish({});
    }
    if (has_headers_ && !buffer_.empty()) {
      const Taken taken = receiver_.take_body(buffer_);
      if (taken == Taken::all) buffer_.clear();
      if (taken == Taken::enough) return finish({});
    }
    if (is_end) end();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void begin() {
    const auto url = parse_url(request_.url);
    if (!url || is_ambiguous(*url)) return finish(network_failure(malformed, {}));
    if (std::any_of(url->host.begin(), url->host.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) {
      return finish(Failure{"remote-network", "the name of the host is not ASCII: write it as xn--…"});
    }
    url_ = *url;
    if (is_address(url_.host)) known()[url_.host] = {url_.host};
    if (known().count(url_.host) != 0) return send();
    start(resolver(url_.host), {});
  }

  // A name may be unknown here and known to a proxy.
  void resolve() {
    known()[url_.host] = addresses_in(buffer_);
    buffer_.clear();
    send();
  }

  void send() {
    addresses_ = known()[url_.host];
    is_sent_ = true;
    for (const std::string& address : addresses_) {
      if (!receiver_.may_connect(address)) return finish({});
    }
    std::string settings = "silent\ninclude\ngloboff\nno-buffer\nsuppress-connect-headers\n";
    settings += setting("proto", "=http,https");
    settings += setting("user-agent", "modelutils");
    settings += setting("connect-timeout", std::to_string(request_.silence));
    settings += setting("url", request_.url);
    if (!is_address(url_.host)) settings += setting("resolve", pinned());
    if (request_.without_proxy) settings += setting("noproxy", "*");
    if (!request_.range.empty()) settings += setting("range", request_.range);
    for (const std::string& header : request_.headers) settings += setting("header", header);
    if (const auto trusted = os::environment("SSL_CERT_FILE")) settings += setting("cacert", *trusted);
    start({.program = "curl", .words = {"curl", "-q", "--config", "-"}, .is_quiet = true}, settings);
  }

  // "example.org:443:192.0.2.1,[2001:db8::1]": makes curl use these addresses for the host. For an unknown name, uses
  // an address to which no connection is possible.
  std::string pinned() const {
    std::string text;
    for (const std::string& address : addresses_) {
      text += address.find(':') == std::string::npos ? "," + address : ",[" + address + "]";
    }
    return url_.host + ":" + url_.port + ":" + (text.empty() ? "255.255.255.255" : text.substr(1));
  }

  void start(const os::Partner::Command& command, const std::string& input) {
    const int error = program_.start(command);
    if (error == 0) {
      program_.send(input);  // if the program has ended meanwhile, its status gives the reason
      program_.end_input();
      return;
    }
    const std::string needed = os::resolves_hosts() ? "curl" : "curl and getent";
    finish(Failure{"remote-helper", error == ENOENT
                                        ? "the program that reads addresses needs " + needed + ", but " +
                                              command.program + " is not in the PATH: install " + command.program
                                        : "the program that reads addresses cannot start " + command.program});
  }

  // Appends what the program has written to buffer_, waiting for it at most this long. Returns false at its end.
  bool read(int milliseconds) {
    const std::size_t before = buffer_.size();
    buffer_.resize(before + most_read);
    const auto got = program_.receive_some(buffer_.data() + before, most_read, milliseconds);
    buffer_.resize(before + got.value_or(0));
    return got != std::size_t{0};
  }

  // The headers precede the body on curl's output. Trailers would follow it, but we do not ask servers for any (TE).
  bool take_line(const std::string& line) {
    buffer_.erase(0, line.size());
    if (line.substr(0, 5) == "HTTP/") is_interim_ = line.find(" 1") == line.find(' ');
    has_headers_ = (line == "\r\n" || line == "\n") && !is_interim_;  // after "100 Continue", more follow
    return receiver_.take_header(line);
  }

  void end() {
    int status = program_.status().value_or(nothing_came);
    if (status == 0 && has_headers_) return finish({});
    if (status == 0) status = nothing_came;
    if (status == not_connected && addresses_.empty()) status = name_is_unknown;
    known().erase(url_.host);
    finish(network_failure(status, "curl ended with status " + std::to_string(status)));
  }

  const Request request_;
  Receiver& receiver_;
  const Clock::time_point begun_ = Clock::now();
  Url url_;
  std::vector<std::string> addresses_;
  os::Partner program_;
  std::string buffer_;  // output that was not passed on
  bool is_sent_ = false;
  bool is_interim_ = false;
  bool has_headers_ = false;
};

}  // namespace

std::unique_ptr<Exchange> Exchange::begin(const Request& request, Receiver& receiver) {
  return std::make_unique<ProgramExchange>(request, receiver);
}

}  // namespace fetch
