// Any bytes -> response headers (after two bytes that select the request), and the decisions about them. An accepted
// response must contain requested bytes, and no wait may exceed its limit.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "fetch/answer.h"
#include "fetch/place.h"
#include "fetch/url.h"

using namespace fetch;

namespace {

void check_taken(const Answer& answer, const Asked& asked) {
  if (answer.status != 206) {
    if (asked.has_ranges || asked.offset > max_whole_answer) std::abort();
    return;
  }
  const auto range = content_range(answer.header("content-range"));
  if (asked.is_whole || !range || range->first != asked.offset) std::abort();
  if (*range->last < asked.offset || *range->last - asked.offset >= asked.size) std::abort();
  if (range->total && (*range->last >= *range->total || (asked.total && asked.total != range->total))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  Asked asked;
  asked.offset = data[0] == 255 ? max_whole_answer + 1 : data[0];
  asked.size = 64;
  asked.is_whole = (data[1] & 1) != 0;
  asked.has_ranges = (data[1] & 2) != 0;
  if ((data[1] & 4) != 0) asked.total = 1000;
  if ((data[1] & 8) != 0) asked.version = "\"v1\"";
  std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  Answer answer;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    if (!answer.add_line(text.substr(0, end + 1))) return 0;
    text.remove_prefix(end + 1);
  }
  for (const long status : {200L, 206L}) {
    answer.status = status;
    const auto failure = check_answer(answer, asked);
    if (!failure) check_taken(answer, asked);
    if (failure && (!failure->code.starts_with("remote-") || failure->message.empty())) std::abort();
  }
  for (const long status : {401L, 403L, 404L, 429L, 500L, 503L}) {
    answer.status = status;
    const Failure failure = refusal(answer, asked.is_whole);
    if (failure.message.empty() || (failure.again && failure.wait > longest_wait)) std::abort();
  }
  const std::string location = answer.header("location");
  if (shown(location).find_first_of("?#") != location.npos) std::abort();
  if (!location.empty()) (void)(origin_of(location).size() + has_user(location) + is_private(location));
  return 0;
}
