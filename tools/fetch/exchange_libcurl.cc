// Sends requests with libcurl. All exchanges share their connections.
#include <curl/curl.h>

#include "base/os/process.h"
#include "base/os/programs.h"
#include "fetch/exchange.h"

namespace fetch {

namespace os = modelutils::os;

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
  LibcurlExchange(const Request& request, Receiver& receiver) : receiver_(receiver) {
    for (const std::string& header : request.headers) headers_ = curl_slist_append(headers_, header.c_str());
    set_options(request);
    if (curl_multi_add_handle(connections(), curl_) != CURLM_OK) finish(network_failure(CURLE_COULDNT_CONNECT, {}));
  }
  ~LibcurlExchange() override {
    curl_multi_remove_handle(connections(), curl_);
    curl_easy_cleanup(curl_);
    curl_slist_free_all(headers_);
  }

  void work(int milliseconds) override {
    if (is_paused_) curl_easy_pause(curl_, CURLPAUSE_CONT);
    is_paused_ = false;
    curl_multi_poll(connections(), nullptr, 0, milliseconds, nullptr);
    int number = 0;
    curl_multi_perform(connections(), &number);
    while (const CURLMsg* message = curl_multi_info_read(connections(), &number)) {
      void* ended = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ended);
      of(ended).end(message->data.result);
    }
  }

 private:
  static LibcurlExchange& of(void* self) { return *static_cast<LibcurlExchange*>(self); }

  void end(CURLcode result) {
    const bool is_complete = result == CURLE_OK || has_enough_;
    finish(is_complete ? std::nullopt : std::optional(network_failure(result, curl_easy_strerror(result))));
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self) {
    return of(self).receiver_.take_header({data, size * count}) ? size * count : 0;
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self) {
    const Taken taken = of(self).receiver_.take_body({data, size * count});
    of(self).has_enough_ = taken == Taken::enough;
    of(self).is_paused_ = taken == Taken::later;
    if (taken == Taken::later) return CURL_WRITEFUNC_PAUSE;  // the server waits until we continue
    return taken == Taken::all ? size * count : 0;
  }

  static curl_socket_t on_socket(void* self, curlsocktype, curl_sockaddr* to) {
    const auto address = os::address_text(&to->addr, to->addrlen);
    if (!address || !of(self).receiver_.may_connect(*address)) return CURL_SOCKET_BAD;
    return os::open_socket(to->family, to->socktype, to->protocol);
  }

  // The connection may be a reused one, which on_socket() has not seen for this request.
  static int on_request(void* self, char* address, char*, int, int) {
    return of(self).receiver_.may_connect(address) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
  }

  void set_options(const Request& request) {
    curl_easy_setopt(curl_, CURLOPT_PRIVATE, this);
    curl_easy_setopt(curl_, CURLOPT_URL, request.url.c_str());
    if (!request.range.empty()) curl_easy_setopt(curl_, CURLOPT_RANGE, request.range.c_str());
    if (request.without_proxy) curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers_);
    curl_easy_setopt(curl_, CURLOPT_USERAGENT, "modelutils");
    curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, static_cast<long>(request.silence));
    if (const auto trusted = os::environment("SSL_CERT_FILE")) {
      curl_easy_setopt(curl_, CURLOPT_CAINFO, trusted->c_str());  // copied
    }
    curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, &LibcurlExchange::on_header);
    curl_easy_setopt(curl_, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &LibcurlExchange::on_body);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(curl_, CURLOPT_OPENSOCKETFUNCTION, &LibcurlExchange::on_socket);
    curl_easy_setopt(curl_, CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(curl_, CURLOPT_PREREQFUNCTION, &LibcurlExchange::on_request);
    curl_easy_setopt(curl_, CURLOPT_PREREQDATA, this);
  }

  CURL* const curl_ = (connections(), curl_easy_init());
  curl_slist* headers_ = nullptr;
  Receiver& receiver_;
  bool is_paused_ = false;
  bool has_enough_ = false;
};

}  // namespace

std::unique_ptr<Exchange> Exchange::begin(const Request& request, Receiver& receiver) {
  return std::make_unique<LibcurlExchange>(request, receiver);
}

}  // namespace fetch
