// Sends requests with libcurl. All exchanges share their connections.
#include <curl/curl.h>
#include <unistd.h>

#include <cstdlib>

#include "fetch/exchange.h"

namespace fetch {

namespace {

CURLM* connections() {
  static CURLM* const all = [] {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return curl_multi_init();
  }();
  return all;
}

class LibcurlExchange : public Exchange {
 public:
  LibcurlExchange() : curl_((connections(), curl_easy_init())) {}
  ~LibcurlExchange() override {
    end();
    curl_easy_cleanup(curl_);
  }
  LibcurlExchange(const LibcurlExchange&) = delete;
  LibcurlExchange& operator=(const LibcurlExchange&) = delete;

  std::optional<Failure> begin(const Request& request, Receiver& receiver) override {
    end();
    receiver_ = &receiver;
    is_done_ = has_enough_ = false;
    status_ = 0;
    set_options(request);
    is_running_ = curl_multi_add_handle(connections(), curl_) == CURLM_OK;
    if (!is_running_) return network_failure(CURLE_COULDNT_CONNECT, {});
    return {};
  }

  void work() override {
    int running = 0;
    curl_multi_perform(connections(), &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(connections(), &left)) {
      if (message->msg != CURLMSG_DONE || message->easy_handle != curl_) continue;
      is_done_ = true;
      result_ = message->data.result;
      curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status_);
    }
  }

  void wait(int milliseconds) override { curl_multi_poll(connections(), nullptr, 0, milliseconds, nullptr); }
  void resume() override { curl_easy_pause(curl_, CURLPAUSE_CONT); }

  void end() override {
    if (is_running_) curl_multi_remove_handle(connections(), curl_);
    is_running_ = false;
    curl_slist_free_all(headers_);
    headers_ = nullptr;
  }

  bool is_done() const override { return is_done_; }
  long status() const override { return status_; }

  std::optional<Failure> failure() const override {
    if (!is_done_ || result_ == CURLE_OK || has_enough_) return {};
    return network_failure(result_, curl_easy_strerror(result_));
  }

  // may_connect() has not checked a reused connection.
  std::string peer() const override {
    const char* address = nullptr;
    curl_easy_getinfo(curl_, CURLINFO_PRIMARY_IP, &address);
    return address == nullptr ? std::string() : std::string(address);
  }

 private:
  static LibcurlExchange& of(void* self) { return *static_cast<LibcurlExchange*>(self); }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    const std::size_t bytes = size * count;
    return of(self).receiver_->take_header(std::string_view(data, bytes)) ? bytes : 0;
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
    LibcurlExchange& exchange = of(self);
    const std::size_t bytes = size * count;
    curl_easy_getinfo(exchange.curl_, CURLINFO_RESPONSE_CODE, &exchange.status_);
    switch (exchange.receiver_->take_body(std::string_view(data, bytes), exchange.status_)) {
      case Taken::all: return bytes;
      case Taken::later: return CURL_WRITEFUNC_PAUSE;  // the server waits until we resume
      case Taken::enough: break;
    }
    exchange.has_enough_ = true;
    return 0;
  }

  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* address) {
    if (!of(self).receiver_->may_connect(&address->addr)) return CURL_SOCKET_BAD;
    return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  }

  void set_options(const Request& request) {
    for (const std::string& header : request.headers) headers_ = curl_slist_append(headers_, header.c_str());
    curl_easy_reset(curl_);
    curl_easy_setopt(curl_, CURLOPT_URL, request.url.c_str());
    if (!request.range.empty()) curl_easy_setopt(curl_, CURLOPT_RANGE, request.range.c_str());
    if (request.without_proxy) curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(curl_, CURLOPT_USERAGENT, "modelutils");
    curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, static_cast<long>(request.silence));
    if (const char* trusted = std::getenv("SSL_CERT_FILE")) curl_easy_setopt(curl_, CURLOPT_CAINFO, trusted);
    curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, &LibcurlExchange::on_header);
    curl_easy_setopt(curl_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &LibcurlExchange::on_body);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(curl_, CURLOPT_OPENSOCKETFUNCTION, &LibcurlExchange::on_socket);
    curl_easy_setopt(curl_, CURLOPT_OPENSOCKETDATA, this);
  }

  CURL* curl_;
  curl_slist* headers_ = nullptr;
  Receiver* receiver_ = nullptr;
  bool is_running_ = false;
  bool is_done_ = false;
  bool has_enough_ = false;
  long status_ = 0;
  CURLcode result_ = CURLE_OK;
};

}  // namespace

std::unique_ptr<Exchange> Exchange::make() {
  return std::make_unique<LibcurlExchange>();
}

// Skips libcurl's cleanup: the system does it faster, and another process may be waiting for us to end.
void leave() {
  ::_exit(0);
}

}  // namespace fetch
