// Sends requests with the program curl, for statically linked builds, which cannot resolve names. Each request is one
// run of curl. It gets its settings on standard input, so that the token does not appear in process lists. curl may
// connect only to addresses that were resolved and checked before, and does not follow redirects.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "fetch/exchange.h"
#include "fetch/host_addresses.h"
#include "fetch/program.h"
#include "fetch/proxy.h"
#include "fetch/url.h"

namespace fetch {

namespace {

constexpr std::size_t bytes_read = 64 << 10;
constexpr std::size_t max_line = 64 << 10;
constexpr int pieces_at_once = 16;
// Exit statuses of curl: curl(1), "EXIT CODES".
constexpr int malformed = 3;
constexpr int no_proxy_host = 5;
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

bool may_connect(Receiver& receiver, const std::string& address) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  if (inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) {
    return receiver.may_connect(reinterpret_cast<const sockaddr*>(&four));
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  return inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1 &&
         receiver.may_connect(reinterpret_cast<const sockaddr*>(&six));
}

// "example.org:443:192.0.2.1,[2001:db8::1]": makes curl use these addresses for the host.
std::string pinned(const Url& url, const std::vector<std::string>& addresses) {
  std::string text = url.host + ":" + url.port + ":";
  for (const std::string& address : addresses) {
    if (&address != &addresses.front()) text += ",";
    text += address.find(':') == std::string::npos ? address : "[" + address + "]";
  }
  return text;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// True for numbers that curl would read as an IPv4 address although they are not in the usual notation: 2130706433,
// 127.1, 0x7f000001.
bool is_odd_number(const std::string& host) {
  const std::string last = host.substr(host.rfind('.') + 1);
  in_addr address;
  const bool is_number = !last.empty() && last.find_first_not_of("0123456789abcdefx") == std::string::npos &&
                         last[0] >= '0' && last[0] <= '9';
  return is_number && inet_pton(AF_INET, host.c_str(), &address) != 1;
}

class ProgramExchange : public Exchange {
 public:
  std::optional<Failure> begin(const Request& request, Receiver& receiver) override {
    end();
    receiver_ = &receiver;
    is_done_ = is_paused_ = has_headers_ = false;
    status_ = 0;
    line_.clear();
    failure_.reset();
    const auto url = parse_url(request.url);
    if (!url || url->host.front() == '-' || url->host.back() == '.' || (!url->is_ipv6 && is_odd_number(url->host)))
      return network_failure(malformed, {});
    if (!is_ascii(url->host)) {
      return Failure{"remote-network", "the name of the host is not ASCII: write it as xn--…"};
    }
    const std::string proxy = request.without_proxy ? std::string() : proxy_for(*url);
    const std::string host = proxy.empty() ? url->host : proxy_host(proxy);
    if (host.empty()) return network_failure(no_proxy_host, {});
    const HostAddresses& addresses = addresses_of(host, static_cast<unsigned>(request.silence));
    if (addresses.failure) return addresses.failure;
    for (const std::string& address : addresses.all) {
      if (!may_connect(receiver, address)) return {};
    }
    std::string settings = settings_of(request);
    settings += proxy.empty() ? setting("noproxy", "*") : setting("proxy", proxy);
    if (proxy.empty() && !url->is_ipv6 && addresses.all.front() != url->host) {
      settings += setting("resolve", pinned(*url, addresses.all));
    }
    const int error = curl_.start({"curl", "-q", "--config", "-"}, settings);
    if (error == 0) return {};
    return Failure{"remote-helper",
                   error == ENOENT
                       ? "the program that reads addresses needs curl, which is not in the PATH: install curl"
                       : "the program that reads addresses cannot start curl"};
  }

  void work() override {
    if (is_done_ || curl_.output() < 0) return;
    take_notes();
    for (int piece = 0; piece < pieces_at_once && has_headers_ && !is_paused_ && !is_done_; ++piece) {
      if (!take_output()) break;
    }
  }

  void wait(int milliseconds) override {
    pollfd waited[2];
    nfds_t count = 0;
    if (curl_.notes() >= 0) waited[count++] = {curl_.notes(), POLLIN, 0};
    if (curl_.output() >= 0 && has_headers_ && !is_paused_) waited[count++] = {curl_.output(), POLLIN, 0};
    ::poll(waited, count, milliseconds);
  }

  void resume() override {
    is_paused_ = false;
    const std::string kept = std::move(kept_);
    kept_.clear();
    if (!kept.empty()) hand_on(kept);
  }

  void end() override {
    curl_.end();
    kept_.clear();
  }

  bool is_done() const override { return is_done_; }
  long status() const override { return status_; }
  std::optional<Failure> failure() const override { return failure_; }
  std::string peer() const override { return {}; }

 private:
  std::string settings_of(const Request& request) const {
    std::string settings = "silent\ngloboff\nno-buffer\nsuppress-connect-headers\n";
    settings += setting("proto", "=http,https");
    settings += setting("user-agent", "modelutils");
    settings += setting("connect-timeout", std::to_string(request.silence));
    settings += setting("dump-header", "/dev/fd/3");
    settings += setting("output", "-");
    settings += setting("url", request.url);
    if (!request.range.empty()) settings += setting("range", request.range);
    for (const std::string& header : request.headers) settings += setting("header", header);
    if (const char* trusted = std::getenv("SSL_CERT_FILE")) settings += setting("cacert", trusted);
    return settings;
  }

  // Reads the headers from a separate pipe, so that they are complete before the first byte of the body.
  void take_notes() {
    while (curl_.notes() >= 0) {
      char piece[4096];
      const ssize_t got = ::read(curl_.notes(), piece, sizeof piece);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return;
      if (got == 0) {
        curl_.close_notes();
        has_headers_ = true;  // no more will come
        return;
      }
      for (ssize_t i = 0; i < got; ++i) {
        line_ += piece[i];
        if (piece[i] != '\n' && line_.size() < max_line) continue;
        const std::string line = std::move(line_);
        line_.clear();
        if (!take_line(line)) return finish();
      }
    }
  }

  bool take_line(const std::string& line) {
    const std::size_t space = line.find(' ');
    if (line.substr(0, 5) == "HTTP/" && space != std::string::npos) {
      status_ = static_cast<long>(number(line.substr(space + 1, 3)).value_or(0));
    }
    if (line == "\r\n" || line == "\n") has_headers_ = status_ >= 200;  // false for "100 Continue": more follow
    return receiver_->take_header(line);
  }

  // Returns false if no data is available now.
  bool take_output() {
    std::string piece(bytes_read, '\0');
    const ssize_t got = ::read(curl_.output(), piece.data(), piece.size());
    if (got < 0) return errno == EINTR;
    if (got == 0) {
      take_notes();
      const auto status = curl_.status();
      if (status == 0 && status_ == 0) failure_ = network_failure(nothing_came, {});
      if (status != 0)
        failure_ = network_failure(status.value_or(nothing_came),
                                   "curl ended with status " + std::to_string(status.value_or(0)));
      is_done_ = true;
      return false;
    }
    piece.resize(static_cast<std::size_t>(got));
    hand_on(piece);
    return true;
  }

  void hand_on(const std::string& piece) {
    switch (receiver_->take_body(piece, status_)) {
      case Taken::all: return;
      case Taken::later:
        is_paused_ = true;
        kept_ = piece;
        return;
      case Taken::enough: finish();
    }
  }

  void finish() {
    end();
    is_done_ = true;
  }

  Program curl_;
  Receiver* receiver_ = nullptr;
  std::string line_;
  std::string kept_;
  bool has_headers_ = false;
  bool is_paused_ = false;
  bool is_done_ = false;
  long status_ = 0;
  std::optional<Failure> failure_;
};

}  // namespace

std::unique_ptr<Exchange> Exchange::make() {
  return std::make_unique<ProgramExchange>();
}

void leave() {
  end_programs();
  ::_exit(0);
}

}  // namespace fetch
