#include "fetch/transfer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace fetch {

namespace {

constexpr int max_redirects = 10;
constexpr int max_attempts = 5;
constexpr u64 longest_wait = 60;                  // seconds, also for everything after the first failure
constexpr u64 max_whole_answer = u64{256} << 20;  // of a server without ranges
constexpr std::size_t max_headers = 256 << 10;
constexpr std::size_t max_error_body = 4 << 10;

std::optional<u64> number(const std::string& text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// Without the query, which may hold a signature, and the fragment.
std::string shown(const std::string& url) {
  return url.substr(0, url.find_first_of("?#"));
}

std::string url_part(const std::string& url, CURLUPart part, unsigned flags = 0) {
  CURLU* parsed = curl_url();
  char* text = nullptr;
  std::string result;
  if (curl_url_set(parsed, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
      curl_url_get(parsed, part, &text, flags) == CURLUE_OK) {
    result = text;
  }
  curl_free(text);
  curl_url_cleanup(parsed);
  return result;
}

// Scheme, host and port.
std::string origin(const std::string& url) {
  return url_part(url, CURLUPART_SCHEME) + "://" + url_part(url, CURLUPART_HOST) + ":" +
         url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

bool is_private_ipv4(std::uint32_t address) {
  const auto in = [&](std::uint32_t net, int bits) { return (address >> (32 - bits)) == (net >> (32 - bits)); };
  return in(0x00000000, 8) || in(0x0A000000, 8) || in(0x64400000, 10) || in(0x7F000000, 8) || in(0xA9FE0000, 16) ||
         in(0xAC100000, 12) || in(0xC0A80000, 16);
}

bool is_private(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return is_private_ipv4(ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return true;
  const auto& bytes = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr.s6_addr;
  const auto zeros = std::find_if(bytes, bytes + 16, [](unsigned char byte) { return byte != 0; }) - bytes;
  if (zeros >= 12 || (zeros == 10 && bytes[10] == 0xFF && bytes[11] == 0xFF)) {  // ::, ::1, ::ffff:a.b.c.d
    const std::uint32_t last = std::uint32_t{bytes[12]} << 24 | std::uint32_t{bytes[13]} << 16 |
                               std::uint32_t{bytes[14]} << 8 | std::uint32_t{bytes[15]};
    return is_private_ipv4(last);
  }
  return (bytes[0] & 0xFE) == 0xFC || (bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80);
}

// "bytes 0-99/1234" or "bytes */1234".
struct ContentRange {
  std::optional<u64> first;
  std::optional<u64> last;
  std::optional<u64> total;
};
std::optional<ContentRange> content_range(const std::string& text) {
  if (strncasecmp(text.c_str(), "bytes ", 6) != 0) return {};
  const auto slash = text.find('/');
  if (slash == std::string::npos) return {};
  const std::string range = text.substr(6, slash - 6);
  ContentRange result;
  result.total = number(text.substr(slash + 1));
  if (range == "*") return result;
  const auto dash = range.find('-');
  if (dash == std::string::npos) return {};
  result.first = number(range.substr(0, dash));
  result.last = number(range.substr(dash + 1));
  if (!result.first || !result.last || *result.last < *result.first) return {};
  return result;
}

std::string bare_etag(std::string text) {
  if (text.rfind("W/", 0) == 0) text.erase(0, 2);
  return text;
}

bool may_pass(long status) {
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

}  // namespace

File::File(Settings settings) : settings_(std::move(settings)), curl_(curl_easy_init()), url_(settings_.address) {}

File::~File() {
  curl_easy_cleanup(curl_);
}

std::string File::header(const char* name) const {
  const auto found = answer_.headers.find(name);
  return found == answer_.headers.end() ? std::string() : found->second;
}

std::size_t File::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  File& file = *static_cast<File*>(self);
  std::string line(data, size * count);
  file.header_bytes_ += line.size();
  file.last_byte_ = Clock::now();
  if (file.header_bytes_ > max_headers) {
    file.failure_ = Failure{"remote-answer", "the headers of the answer do not end"};
    return 0;
  }
  if (line.rfind("HTTP/", 0) == 0) file.answer_.headers.clear();
  const auto colon = line.find(':');
  if (colon == std::string::npos) return line.size();
  std::string name = line.substr(0, colon);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto first = line.find_first_not_of(" \t", colon + 1);
  const auto last = line.find_last_not_of(" \t\r\n");
  file.answer_.headers[name] =
      first == std::string::npos || last < first ? std::string() : line.substr(first, last - first + 1);
  return line.size();
}

// Before the first byte of the body is taken: is this what was asked for?
std::optional<Failure> File::check_body() {
  const std::string encoding = header("content-encoding");
  if (!encoding.empty() && strcasecmp(encoding.c_str(), "identity") != 0) {
    return Failure{"remote-answer", "the server sent the encoding " + encoding + ", which was not asked for"};
  }
  if (strncasecmp(header("content-type").c_str(), "text/html", 9) == 0) {
    return Failure{"remote-answer",
                   "the server sent an HTML page, not a file: a sign-in page, or an address with "
                   "/blob/ where /resolve/ is meant"};
  }
  std::optional<u64> total;
  if (answer_.status == 206) {
    const auto range = content_range(header("content-range"));
    if (!range || !range->first) return Failure{"remote-answer", "the answer does not say which range it holds"};
    if (*range->first != offset_ || *range->last - *range->first >= wanted_) {
      return Failure{"remote-answer", "the server sent a range that was not asked for"};
    }
    if (range->total && *range->last >= *range->total) {
      return Failure{"remote-answer", "the range of the answer ends after the file"};
    }
    total = range->total;
    has_ranges_ = true;
  } else {
    if (has_ranges_) return Failure{"remote-changed", "the file changed while it was being read"};
    if (offset_ + wanted_ > max_whole_answer) {
      return Failure{"remote-answer",
                     "the server does not send ranges, and the bytes wanted are too far from the start"};
    }
    total = number(header("content-length"));
    skip_ = offset_;
  }
  const std::string etag = bare_etag(header("etag"));
  if ((total_ && total && *total_ != *total) || (!etag_.empty() && etag != etag_)) {
    return Failure{"remote-changed", "the file changed while it was being read"};
  }
  if (total) total_ = total;
  if (etag_.empty()) etag_ = etag;
  return {};
}

std::size_t File::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  File& file = *static_cast<File*>(self);
  const std::size_t bytes = size * count;
  curl_easy_getinfo(file.curl_, CURLINFO_RESPONSE_CODE, &file.answer_.status);
  if (file.answer_.status != 200 && file.answer_.status != 206) {
    file.error_body_.append(data, std::min(bytes, max_error_body - file.error_body_.size()));
    return file.error_body_.size() < max_error_body ? bytes : 0;
  }
  if (!file.checked_) {
    file.checked_ = true;
    if ((file.failure_ = file.check_body())) return 0;
  }
  const std::size_t skipped = static_cast<std::size_t>(std::min<u64>(bytes, file.skip_));
  file.skip_ -= skipped;
  const u64 room = file.wanted_ - file.out_->size();
  const std::size_t taken = static_cast<std::size_t>(std::min<u64>(bytes - skipped, room));
  file.out_->append(data + skipped, taken);
  if (taken == bytes - skipped) return bytes;
  file.enough_ = file.answer_.status == 200;
  if (!file.enough_) file.failure_ = Failure{"remote-answer", "the server sent more than the range asked for"};
  return 0;
}

int File::on_progress(void* self, curl_off_t, curl_off_t received, curl_off_t, curl_off_t) {
  File& file = *static_cast<File*>(self);
  const auto now = Clock::now();
  if (received != file.received_) {
    file.received_ = received;
    file.last_byte_ = now;
  }
  if (now - file.last_byte_ <= std::chrono::seconds(file.settings_.silence)) return 0;
  file.failure_ =
      Failure{"remote-network", "stalled: no data for " + std::to_string(file.settings_.silence) + " seconds", true};
  return 1;
}

curl_socket_t File::on_socket(void* self, curlsocktype, curl_sockaddr* address) {
  File& file = *static_cast<File*>(self);
  const bool is_inside = is_private(&address->addr);
  if (!file.redirected_) file.first_is_private_ = is_inside;
  if (file.redirected_ && is_inside && !file.first_is_private_.value_or(false)) {
    file.failure_ = Failure{"remote-redirect", "a redirect leads to a private or loopback address"};
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

Failure File::refused(const std::string&) const {
  const std::string code = header("x-error-code");
  const long status = answer_.status;
  std::string message = "the server answered " + std::to_string(status);
  if (code == "GatedRepo") {
    message += ": access to this model is restricted (gated); ask for it on its page, then set HF_TOKEN";
  } else if (status == 401) {
    message += settings_.token.empty() ? ": the model does not exist, or needs a token (HF_TOKEN)"
                                       : ": the token (HF_TOKEN) is not accepted";
  } else if (status == 403) {
    message += ": access is refused";
  } else if (status == 404) {
    message += ": not found";
  } else if (status == 429) {
    message += ": too many requests";
  }
  Failure failure{"remote-status", message, may_pass(status)};
  if (!failure.again) return failure;
  std::optional<u64> wait = number(header("retry-after"));
  const std::string limit = header("ratelimit");
  if (const auto t = limit.find(";t="); !wait && status == 429 && t != std::string::npos) {
    const auto end = limit.find_first_not_of("0123456789", t + 3);
    wait = number(limit.substr(t + 3, end == std::string::npos ? end : end - t - 3));
  }
  if (wait) failure.wait = *wait;
  if (failure.wait > longest_wait) {
    failure.again = false;
    failure.message += ", try again in " + std::to_string(failure.wait) + " seconds";
  }
  return failure;
}

std::optional<Failure> File::redirect() {
  char* next = nullptr;
  curl_easy_getinfo(curl_, CURLINFO_REDIRECT_URL, &next);
  const std::string to = next ? next : "";
  const std::string scheme = url_part(to, CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") {
    return Failure{"remote-redirect", "a redirect leads to something that is not http or https"};
  }
  if (scheme == "http" && url_part(url_, CURLUPART_SCHEME) == "https") {
    return Failure{"remote-redirect", "a redirect leads from https to http: " + shown(to)};
  }
  url_ = to;
  redirected_ = true;
  return {};
}

std::optional<Failure> File::ask(u64 offset, u64 size, std::string& out) {
  answer_ = {};
  offset_ = offset;
  wanted_ = size;
  skip_ = 0;
  out_ = &out;
  error_body_.clear();
  failure_.reset();
  checked_ = enough_ = false;
  received_ = 0;
  header_bytes_ = 0;
  last_byte_ = Clock::now();
  curl_slist* headers = curl_slist_append(nullptr, "Accept-Encoding: identity");
  if (!settings_.token.empty() && origin(url_) == origin(settings_.address)) {
    headers = curl_slist_append(headers, ("Authorization: Bearer " + settings_.token).c_str());
  }
  if (has_ranges_ && etag_.rfind('"', 0) == 0) headers = curl_slist_append(headers, ("If-Range: " + etag_).c_str());
  const std::string range = std::to_string(offset) + "-" + std::to_string(offset + size - 1);
  curl_easy_reset(curl_);  // keeps the connections
  curl_easy_setopt(curl_, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(curl_, CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl_, CURLOPT_USERAGENT, "modelutils");
  curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, static_cast<long>(settings_.silence));
  curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_LIMIT, 1000L);
  curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_TIME, 20L);
  if (const char* trusted = std::getenv("SSL_CERT_FILE")) curl_easy_setopt(curl_, CURLOPT_CAINFO, trusted);
  curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, &File::on_header);
  curl_easy_setopt(curl_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &File::on_body);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, &File::on_progress);
  curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, this);
  curl_easy_setopt(curl_, CURLOPT_OPENSOCKETFUNCTION, &File::on_socket);
  curl_easy_setopt(curl_, CURLOPT_OPENSOCKETDATA, this);
  const CURLcode done = curl_easy_perform(curl_);
  curl_slist_free_all(headers);
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &answer_.status);
  if (failure_) return failure_;
  const bool is_refused = answer_.status >= 300;
  if (done == CURLE_OK || enough_ || (is_refused && done == CURLE_WRITE_ERROR)) return {};
  // These will not be better in a second; a refused connection is final for curl --retry, too.
  const bool is_final = done == CURLE_PEER_FAILED_VERIFICATION || done == CURLE_URL_MALFORMAT ||
                        done == CURLE_SSL_CACERT_BADFILE || done == CURLE_COULDNT_CONNECT ||
                        done == CURLE_UNSUPPORTED_PROTOCOL;
  std::string message = curl_easy_strerror(done);
  if (done == CURLE_PEER_FAILED_VERIFICATION) message = "the server's certificate is not trusted";
  if (done == CURLE_PARTIAL_FILE || done == CURLE_RECV_ERROR || done == CURLE_GOT_NOTHING) {
    message = "the connection was cut";
  }
  if (done == CURLE_OPERATION_TIMEDOUT) message = "time-out: no answer, or less than 1 kB/s";
  return Failure{"remote-network", message, !is_final};
}

std::optional<Failure> File::attempt(u64 offset, u64 size, std::string& out) {
  bool asked_anew = false;
  for (int hops = 0; hops <= max_redirects;) {
    if (auto failed = ask(offset, size, out)) return failed;
    const long status = answer_.status;
    if (status == 200 || status == 206) {
      // An answer without a body has not been looked at yet.
      if (!checked_) {
        if (auto failed = check_body()) return failed;
      }
      const u64 due = total_ ? (*total_ > offset ? std::min(size, *total_ - offset) : 0) : out.size();
      if (out.size() < due) return Failure{"remote-network", "the connection was cut", true};
      if (!total_ && out.size() < size) total_ = offset + out.size();
      return {};
    }
    if (status >= 301 && status <= 308 && status != 304) {
      if (auto failed = redirect()) return failed;
      ++hops;
      continue;
    }
    // The end of an empty file, and only that, cannot be asked for.
    const auto range = content_range(header("content-range"));
    if (status == 416 && range && range->total == u64{0} && offset == 0) {
      total_ = 0;
      return {};
    }
    if (status == 403 && redirected_ && !asked_anew) {  // signed for about an hour
      asked_anew = true;
      url_ = settings_.address;
      redirected_ = false;
      continue;
    }
    return refused(error_body_);
  }
  return Failure{"remote-redirect", "more than " + std::to_string(max_redirects) + " redirects"};
}

std::optional<Failure> File::read(u64 offset, u64 size, std::string& out) {
  out.clear();
  std::optional<Clock::time_point> end;
  for (int attempts = 1;; ++attempts) {
    std::string piece;
    auto failed = attempt(offset + out.size(), size - out.size(), piece);
    // What came before a cut is kept: the next attempt goes on from there, if the server says it is the same file.
    if (!failed || (failed->again && has_ranges_ && !etag_.empty())) out += piece;
    if (!failed || out.size() == size) return {};
    if (!end) end = Clock::now() + std::chrono::seconds(longest_wait);
    const u64 wait = failed->wait > 0 ? failed->wait : u64{1} << std::min(attempts - 1, 3);
    // Room for the next attempt's silence, too.
    const auto next = Clock::now() + std::chrono::seconds(wait + settings_.silence);
    if (!failed->again || attempts == max_attempts || next > *end) return failed;
    std::cout << "again " << failed->message << "; trying again in " << wait << " s" << std::endl;
    std::this_thread::sleep_for(std::chrono::seconds(wait));
  }
}

}  // namespace fetch
