#include "fetch/answer.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace fetch {

namespace {

constexpr std::size_t max_headers = 256 << 10;
constexpr std::size_t max_shown = 40;

bool is_same(std::string_view text, std::string_view lower) {
  const auto is_equal = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), is_equal);
}

bool begins_with(std::string_view text, std::string_view start) {
  return is_same(text.substr(0, start.size()), start);
}

bool may_pass(long status) {
  return status == 408 || status == 429 || status == 500 || (status >= 502 && status <= 504);
}

// Returns the delay in seconds that the server asks for: "Retry-After: 3", or the draft's "RateLimit:
// "resolvers";r=0;t=3".
u64 wait_of(const Answer& answer) {
  if (const auto wait = number(answer.header("retry-after"))) return *wait;
  const std::string limit = answer.header("ratelimit");
  const auto at = limit.find(";t=");
  if (answer.status != 429 || at == std::string::npos) return 0;
  const auto end = limit.find_first_not_of("0123456789", at + 3);
  return number(std::string_view(limit).substr(at + 3, end == std::string::npos ? end : end - at - 3)).value_or(0);
}

}  // namespace

std::optional<u64> number(std::string_view text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<ContentRange> content_range(std::string_view text) {
  if (!begins_with(text, "bytes ")) return {};
  text.remove_prefix(6);
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view range = text.substr(0, slash);
  ContentRange result;
  result.total = number(text.substr(slash + 1));
  if (range == "*") return result;
  const auto dash = range.find('-');
  if (dash == std::string_view::npos) return {};
  result.first = number(range.substr(0, dash));
  result.last = number(range.substr(dash + 1));
  if (!result.first || !result.last || *result.last < *result.first) return {};
  return result;
}

bool Answer::add_line(std::string_view line) {
  bytes_ += line.size();
  if (bytes_ > max_headers) return false;
  if (line.substr(0, 5) == "HTTP/") {
    headers_.clear();  // the real answer after "100 Continue"
    status = static_cast<long>(number(line.substr(std::min(line.find(' '), line.size() - 1) + 1, 3)).value_or(0));
  }
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto first = line.find_first_not_of(" \t\r\n", colon + 1);
  const auto last = line.find_last_not_of(" \t\r\n");
  headers_[name] = first == std::string_view::npos ? std::string() : std::string(line.substr(first, last - first + 1));
  return true;
}

std::string Answer::header(const char* name) const {
  const auto found = headers_.find(name);
  return found == headers_.end() ? std::string() : found->second;
}

std::string version_of(const Answer& answer) {
  std::string etag = answer.header("etag");
  if (begins_with(etag, "w/")) etag.erase(0, 2);
  return etag.empty() ? answer.header("last-modified") : etag;
}

std::optional<u64> total_of(const Answer& answer) {
  if (answer.status != 206) return number(answer.header("content-length"));
  const auto range = content_range(answer.header("content-range"));
  return range ? range->total : std::nullopt;
}

std::optional<Failure> check_answer(const Answer& answer, const Asked& asked) {
  const std::string encoding = answer.header("content-encoding");
  if (!encoding.empty() && !is_same(encoding, "identity")) {
    return Failure{"remote-answer",
                   "the server sent the encoding " + encoding.substr(0, max_shown) + ", which was not requested"};
  }
  if (begins_with(answer.header("content-type"), "text/html")) {
    return Failure{
        "remote-answer",
        "the server sent an HTML page, not a file: a sign-in page, or an address with /blob/ instead of /resolve/"};
  }
  const std::optional<u64> total = total_of(answer);
  if (answer.status == 206) {
    const auto range = content_range(answer.header("content-range"));
    if (!range || !range->first) return Failure{"remote-answer", "the response does not say which range it contains"};
    if (asked.is_whole || *range->first != asked.offset || *range->last - *range->first >= asked.size) {
      return Failure{"remote-answer", "the server sent a range that was not requested"};
    }
    if (total && *range->last >= *total) {
      return Failure{"remote-answer", "the range of the response ends after the file"};
    }
  } else if (asked.has_ranges) {
    return Failure{"remote-changed", "the file changed while it was being read"};
  } else if (asked.offset > max_whole_answer) {
    return Failure{"remote-answer",
                   "the server does not support ranges, and the requested bytes are too far from the start"};
  } else if (asked.is_whole && total && *total > asked.size) {
    return Failure{"remote-answer", "the response is longer than " + std::to_string(asked.size) + " bytes"};
  }
  const bool is_other = !asked.version.empty() && version_of(answer) != asked.version;
  if (is_other || (asked.total && total && *asked.total != *total)) {
    return Failure{"remote-changed", "the file changed while it was being read"};
  }
  return {};
}

Failure refusal(const Answer& answer, bool has_token) {
  const std::string code = answer.header("x-error-code");
  const long status = answer.status;
  std::string message = "the server answered " + std::to_string(status);
  if (code == "GatedRepo") {
    message += ": access to this model is restricted (gated); ask for it on its page, then set HF_TOKEN";
  } else if (status == 401) {
    message +=
        has_token ? ": the token (HF_TOKEN) was rejected" : ": the model does not exist, or needs a token (HF_TOKEN)";
  } else if (status == 403) {
    message += ": access is refused";
  } else if (code == "RepoNotFound") {
    message += ": there is no such model, or the token (HF_TOKEN) gives no access to it";
  } else if (code == "RevisionNotFound") {
    message += ": the model has no such revision";
  } else if (status == 404) {
    message += ": not found";
  } else if (status == 429) {
    message += ": too many requests";
  }
  Failure failure{status == 404 ? "remote-missing" : "remote-status", message, may_pass(status)};
  if (!failure.again) return failure;
  failure.wait = wait_of(answer);
  if (failure.wait > longest_wait) {
    failure.again = false;
    failure.message += ", try again in " + std::to_string(failure.wait) + " seconds";
  }
  return failure;
}

}  // namespace fetch
