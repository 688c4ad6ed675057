#include "fetch/transfer.h"

#include <algorithm>
#include <iostream>

#include "base/os/programs.h"
#include "fetch/place.h"
#include "fetch/url.h"

namespace fetch {

namespace os = modelutils::os;

namespace {

constexpr int max_redirects = 10;
constexpr int max_failures = 5;
constexpr u64 bytes_of_recovery = 1 << 20;  // after this many bytes without a failure, earlier ones are forgotten
constexpr auto time_for_trouble = std::chrono::seconds(60);
constexpr auto longest_attempt_in_trouble = std::chrono::seconds(90);
constexpr auto silence_to_tell = std::chrono::seconds(4);
constexpr auto slow_window = std::chrono::seconds(20);
constexpr u64 slow_bytes = 20 * 1000;
constexpr std::size_t bytes_of_part = 128 << 10;
constexpr int poll_milliseconds = 200;
constexpr std::size_t max_error_body = 4 << 10;

std::string seconds_text(u64 seconds) {
  return std::to_string(seconds) + (seconds == 1 ? " second" : " seconds");
}

}  // namespace

File::File(Session& session, std::string address, std::string token)
    : session_(session), address_(std::move(address)), token_(std::move(token)), url_(address_) {}

bool File::is_full() const {
  return out_ == nullptr || arrived() >= asked_.size;
}

bool File::take_header(std::string_view line) {
  last_byte_ = Clock::now();
  has_answered_ = true;
  if (answer_.add_line(line)) return true;
  failure_ = Failure{"remote-answer", "the headers of the response do not end"};
  return false;
}

// Returns the number of bytes received in this attempt.
u64 File::arrived() const {
  return delivered_ + out_->size();
}

// Delivers the bytes received so far. Only if ranges are known to work: delivered bytes cannot be taken back, so the
// next attempt after a cut must continue after them.
void File::deliver() {
  if (!asked_.has_ranges || session_.deliver == nullptr || out_->empty()) return;
  session_.deliver(*out_);
  delivered_ += out_->size();
  out_->clear();
}

// Consumes bytes of a body. Skips those before the requested offset and keeps those after the range for the next read.
void File::take(const char* data, std::size_t bytes) {
  const u64 skipped = asked_.offset > position_ ? std::min<u64>(bytes, asked_.offset - position_) : 0;
  position_ += bytes;
  data += skipped;
  bytes -= static_cast<std::size_t>(skipped);
  const std::size_t taken = static_cast<std::size_t>(std::min<u64>(bytes, asked_.size - arrived()));
  out_->append(data, taken);
  if (out_->size() >= bytes_of_part) deliver();
  pending_.append(data + taken, bytes - taken);
}

Taken File::take_body(std::string_view bytes) {
  const long status = answer_.status;
  last_byte_ = Clock::now();
  if (status != 200 && status != 206) {
    error_body_.append(bytes.substr(0, max_error_body - error_body_.size()));
    return error_body_.size() < max_error_body ? Taken::all : Taken::enough;
  }
  if (!is_checked_) {
    is_checked_ = true;
    if ((failure_ = check_answer(answer_, asked_))) return Taken::enough;
    if (status == 206) position_ = asked_.offset;
  }
  if (status == 200 && !asked_.is_whole && is_full()) return Taken::later;
  received_ += bytes.size();
  take(bytes.data(), bytes.size());
  if (pending_.empty() || (status == 200 && !asked_.is_whole)) return Taken::all;
  failure_ =
      Failure{"remote-answer", asked_.is_whole ? "the response is longer than " + std::to_string(asked_.size) + " bytes"
                                               : "the server sent more than the requested range"};
  return Taken::enough;
}

bool File::sends_token() const {
  const std::string origin = origin_of(address_);
  return !token_.empty() && !origin.empty() && origin_of(url_) == origin;
}

// The first server counts as public if any of its addresses is public.
bool File::may_connect(const std::string& address) {
  const bool is_inside = is_private(address);
  if (!is_redirected_) first_is_private_ = first_is_private_.value_or(true) && is_inside;
  if (is_redirected_ && is_inside && !first_is_private_.value_or(false) && !session_.allow_private_redirect) {
    failure_ = Failure{"remote-redirect",
                       "a redirect leads to a private or loopback address; --allow-private-redirect follows it"};
  } else if (sends_token() && scheme_of(url_) == "http" && !is_loopback(address)) {
    failure_ = Failure{"remote-network", "the token (HF_TOKEN) is sent only over https or to this machine"};
  }
  return !failure_;
}

Request File::request() const {
  Request request;
  request.url = url_;
  request.silence = session_.silence;
  if (!asked_.is_whole) {
    request.range = std::to_string(asked_.offset) + "-" + std::to_string(asked_.offset + asked_.size - 1);
  }
  request.headers.push_back("Accept-Encoding: identity");
  if (sends_token()) {
    request.headers.push_back("Authorization: Bearer " + token_);
    // A proxy could read the token on its way to this machine.
    request.without_proxy = scheme_of(url_) == "http";
  }
  if (asked_.has_ranges && is_strong_) request.headers.push_back("If-Range: " + asked_.version);
  return request;
}

// Sends the request for asked_.
void File::begin() {
  exchange_.reset();
  answer_ = {};
  failure_.reset();
  is_checked_ = false;
  position_ = 0;
  pending_.clear();
  error_body_.clear();
  if (!is_redirected_) first_is_private_.reset();
  exchange_ = Exchange::begin(request(), *this);
}

// Tells the user once per file why nothing happens.
void File::tell_of_slowness(Clock::time_point now) {
  const auto longest = std::chrono::seconds(session_.silence);
  if (is_slowness_told_ || now - last_byte_ < silence_to_tell || longest <= silence_to_tell) return;
  is_slowness_told_ = true;
  std::cout << "note no data for " << seconds_text(silence_to_tell.count()) << "; giving up after "
            << seconds_text(session_.silence) << std::endl;
}

// Runs until the requested bytes have arrived, the answer has ended, or a timeout has expired.
std::optional<Failure> File::drive() {
  last_byte_ = Clock::now();
  auto window = last_byte_;
  auto looked = last_byte_;
  received_ = 0;
  // A range is read to its end, so that the connection can be reused.
  const auto has_enough = [&] { return is_full() && answer_.status == 200 && !asked_.is_whole; };
  while (!exchange_->is_done() && !failure_ && !has_enough()) {
    exchange_->work(poll_milliseconds);
    const auto now = Clock::now();
    if (exchange_->is_done() || failure_ || has_enough()) break;
    if (now - last_byte_ > std::chrono::seconds(session_.silence)) {
      // Retry once if the connection stalled in mid-transfer. A server that sends nothing at all has had its time.
      failure_ = Failure{"remote-network", "stalled: no data for " + seconds_text(session_.silence),
                         arrived() > 0 && !has_stalled_};
      has_stalled_ = true;
    } else if (now - window > slow_window) {
      if (received_ > 0 && received_ < slow_bytes) {  // complete silence is handled above
        failure_ = Failure{"remote-network", "stalled: less than 1 kB/s for 20 seconds", true};
      }
      window = now;
      received_ = 0;
    }
    if (now > deadline_) failure_ = Failure{"remote-network", "gave up: no success within the time limit"};
    if (now - looked > std::chrono::milliseconds(poll_milliseconds)) {  // not for every TLS record
      looked = now;
      tell_of_slowness(now);
      if (os::is_abandoned(0)) failure_ = Failure{"remote-helper", "the tool has ended"};
    }
  }
  return failure_ ? failure_ : exchange_->failure();
}

std::optional<Failure> File::redirect() {
  const std::string to = resolve_reference(url_, answer_.header("location"));
  const std::string scheme = scheme_of(to);
  if (scheme != "https" && scheme != "http") {
    return Failure{"remote-redirect", "a redirect leads to a scheme other than http or https"};
  }
  if (has_user(to)) return Failure{"remote-redirect", "a redirect leads to an address with a user or password"};
  if (scheme == "http" && scheme_of(url_) == "https") {
    return Failure{"remote-redirect", "a redirect leads from https to http: " + shown(to)};
  }
  url_ = to;
  is_redirected_ = true;
  return {};
}

// Makes one attempt: the request, its redirects, and the answer.
std::optional<Failure> File::attempt(std::string& out) {
  out_ = &out;
  delivered_ = 0;
  // Continue an answer without ranges where the last read stopped.
  const bool has_more = exchange_ && (!exchange_->is_done() || (answer_.status == 200 && !pending_.empty()));
  bool is_begun = has_more && !asked_.is_whole && asked_.offset >= position_ - pending_.size();
  if (is_begun) {
    const std::string kept = std::move(pending_);
    pending_.clear();
    position_ -= kept.size();
    take(kept.data(), kept.size());
  }
  bool asked_anew = false;
  for (int hops = 0; hops <= max_redirects;) {
    if (!is_begun) begin();
    is_begun = false;
    if (auto failed = drive()) return failed;
    if (commit_.empty()) commit_ = answer_.header("x-repo-commit");
    const long status = answer_.status;
    if (status == 200 || status == 206) {
      // take_body() has not checked an answer without a body.
      if (!is_checked_) {
        if (auto failed = check_answer(answer_, asked_)) return failed;
      }
      if (asked_.version.empty()) {
        asked_.version = version_of(answer_);
        // A weak ETag does not identify the exact bytes; a date or a strong one does.
        const std::string etag = answer_.header("etag");
        is_strong_ = !asked_.version.empty() && (etag.empty() || etag[0] == '"');
      }
      if (const auto total = total_of(answer_)) asked_.total = total;
      asked_.has_ranges = asked_.has_ranges || status == 206;
      const u64 end = asked_.total.value_or(asked_.offset + arrived());
      const u64 due = asked_.is_whole       ? arrived()
                      : end > asked_.offset ? std::min(asked_.size, end - asked_.offset)
                                            : 0;
      if (arrived() < due) return Failure{"remote-network", "the connection was cut", true};
      if (exchange_->is_done() && !asked_.total && (status == 200 || arrived() < asked_.size)) {
        asked_.total = status == 200 ? position_ : asked_.offset + arrived();
      }
      return {};
    }
    if (status >= 301 && status <= 308 && status != 304) {
      if (auto failed = redirect()) return failed;
      ++hops;
      continue;
    }
    // A range at the end of an empty file gives 416. Any other 416 is an error.
    const auto range = content_range(answer_.header("content-range"));
    if (status == 416 && range && range->total == u64{0} && asked_.offset == 0) {
      asked_.total = 0;
      return {};
    }
    if (status == 403 && is_redirected_ && !asked_anew) {  // signed URLs expire after about an hour
      asked_anew = true;
      url_ = address_;
      is_redirected_ = false;
      ++hops;
      continue;
    }
    return refusal(answer_, !token_.empty());
  }
  return Failure{"remote-redirect", "more than " + std::to_string(max_redirects) + " redirects"};
}

// Makes attempts until `out` has all requested bytes.
std::optional<Failure> File::insist(std::string& out) {
  while (true) {
    const auto begun = Clock::now();
    deadline_ = trouble_ ? std::min(*trouble_ + time_for_trouble, begun + longest_attempt_in_trouble)
                         : Clock::time_point::max();
    std::string rest;
    std::string& piece = out.empty() ? out : rest;  // the first attempt usually succeeds; append in place
    auto failed = attempt(piece);
    if (failed) exchange_.reset();
    const u64 bytes = arrived();
    // Keep the bytes before a cut: the next attempt continues there, if the server confirms that the file is unchanged.
    if (!failed || (failed->again && asked_.has_ranges)) {
      if (failed) deliver();
      if (&piece != &out) out += piece;
      asked_.offset += bytes;
      asked_.size -= bytes;
    } else {
      piece.clear();
    }
    out_ = nullptr;
    arrived_since_ += bytes;
    if (arrived_since_ >= bytes_of_recovery) {
      trouble_.reset();
      failures_ = 0;
      has_stalled_ = false;
    }
    if (!failed || asked_.size == 0) return {};
    arrived_since_ = 0;
    // Without ranges the file is read again from its start. That is safe only if the version shows that it is the same
    // file.
    if (!asked_.has_ranges && asked_.offset > 0 && asked_.version.empty()) failed->again = false;
    if (failed->is_unknown_host) failed->again = has_answered_;
    const auto now = Clock::now();
    if (!trouble_) trouble_ = now;
    const u64 wait = failed->wait > 0 ? failed->wait : u64{1} << std::min(failures_, 3);
    if (!failed->again || ++failures_ >= max_failures) return failed;
    if (now + std::chrono::seconds(wait) >= *trouble_ + time_for_trouble) return failed;
    std::cout << "note " << failed->message << "; trying again in " << seconds_text(wait) << std::endl;
    if (os::is_abandoned(static_cast<int>(wait * 1000))) return failed;
  }
}

std::optional<Failure> File::read(u64 offset, u64 size, std::string& out) {
  out.clear();
  asked_.offset = offset;
  asked_.size = size;
  asked_.is_whole = false;
  return insist(out);
}

std::optional<Failure> File::read_whole(u64 most, std::string& out) {
  out.clear();
  asked_.offset = 0;
  asked_.size = most;
  asked_.is_whole = true;
  return insist(out);
}

}  // namespace fetch
