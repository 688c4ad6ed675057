// Tests decisions about responses of honest and lying servers: which are accepted or refused, and how long to wait.
#include "fetch/answer.h"

#include <gtest/gtest.h>

namespace fetch {
namespace {

Answer answer_of(long status, std::initializer_list<const char*> lines) {
  Answer answer;
  for (const char* line : lines) EXPECT_TRUE(answer.add_line(std::string(line) + "\r\n"));
  answer.status = status;
  return answer;
}

Asked range(u64 offset, u64 size) {
  Asked asked;
  asked.offset = offset;
  asked.size = size;
  return asked;
}

std::string code_of(const Answer& answer, const Asked& asked) {
  const auto failure = check_answer(answer, asked);
  return failure ? failure->code : "taken";
}

TEST(Numbers, NoSignNoSpaceNoOverflow) {
  EXPECT_EQ(number("0"), 0u);
  EXPECT_EQ(number("18446744073709551615"), ~u64{0});
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x1", "18446744073709551616", "1.0"})
    EXPECT_FALSE(number(text)) << text;
}

TEST(ContentRanges, OfRfc9110) {
  const auto usual = content_range("bytes 10-19/100");
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->first, 10u);
  EXPECT_EQ(usual->last, 19u);
  EXPECT_EQ(usual->total, 100u);
  EXPECT_FALSE(content_range("bytes 0-9/*")->total);
  EXPECT_EQ(content_range("bytes */7")->total, 7u);
  EXPECT_FALSE(content_range("bytes */7")->first);
  for (const char* text : {"", "bytes", "bytes 1-2", "items 0-9/10", "bytes 9-0/10", "bytes -1-5/10", "bytes 5/10"}) {
    EXPECT_FALSE(content_range(text)) << text;
  }
}

TEST(Headers, NamesAreOfEitherCaseAndTheLastCounts) {
  const Answer answer =
      answer_of(200, {"HTTP/1.1 100 Continue", "ETag: \"old\"", "HTTP/1.1 200 OK", "X-A:  b ", "x-a: c", "Empty:"});
  EXPECT_EQ(answer.header("x-a"), "c");
  EXPECT_EQ(answer.header("etag"), "");  // headers of the previous response are gone
  EXPECT_EQ(answer.header("empty"), "");
}

TEST(Headers, TheLastStatusLineCounts) {
  Answer answer;
  EXPECT_EQ(answer.status, 0);
  for (const auto& [line, status] : {std::pair("HTTP/1.1 100 Continue\r\n", 100),
                                     {"Date: HTTP/1.1 500\r\n", 100},
                                     {"HTTP/2 206 \r\n", 206},
                                     {"HTTP/1.1 2x0 OK\r\n", 0},
                                     {"HTTP/1.1", 0}}) {
    EXPECT_TRUE(answer.add_line(line));
    EXPECT_EQ(answer.status, status) << line;
  }
}

TEST(Headers, MoreThan256KiBAreRefused) {
  Answer answer;
  const std::string line = "A: " + std::string(65533, 'x');  // 64 KiB
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(answer.add_line(line));
  EXPECT_FALSE(answer.add_line("B: c"));
}

TEST(Answers, ARangeMustBeTheOneAskedFor) {
  const auto part = [](const char* range) { return answer_of(206, {"ETag: \"v\"", range}); };
  EXPECT_EQ(code_of(part("Content-Range: bytes 10-19/100"), range(10, 10)), "taken");
  EXPECT_EQ(code_of(part("Content-Range: bytes 10-14/15"), range(10, 10)), "taken");  // accepted: the file ends there
  EXPECT_EQ(code_of(part("Content-Range: bytes 11-19/100"), range(10, 10)), "remote-answer");
  EXPECT_EQ(code_of(part("Content-Range: bytes 10-20/100"), range(10, 10)), "remote-answer");
  EXPECT_EQ(code_of(part("Content-Range: bytes 10-19/19"), range(10, 10)), "remote-answer");
  EXPECT_EQ(code_of(part("Content-Range: bytes */100"), range(10, 10)), "remote-answer");
  EXPECT_EQ(code_of(part("X: y"), range(10, 10)), "remote-answer");
  Asked whole = range(0, 100);
  whole.is_whole = true;
  EXPECT_EQ(code_of(part("Content-Range: bytes 0-9/10"), whole), "remote-answer");
}

TEST(Answers, AnotherVersionOrLengthIsAnotherFile) {
  Asked asked = range(0, 10);
  asked.total = 100;
  asked.version = "\"v1\"";
  EXPECT_EQ(code_of(answer_of(206, {"ETag: \"v1\"", "Content-Range: bytes 0-9/100"}), asked), "taken");
  EXPECT_EQ(code_of(answer_of(206, {"ETag: W/\"v1\"", "Content-Range: bytes 0-9/100"}), asked), "taken");
  EXPECT_EQ(code_of(answer_of(206, {"ETag: \"v2\"", "Content-Range: bytes 0-9/100"}), asked), "remote-changed");
  EXPECT_EQ(code_of(answer_of(206, {"ETag: \"v1\"", "Content-Range: bytes 0-9/101"}), asked), "remote-changed");
  asked.has_ranges = true;  // If-Range was not met: the server sends all of a new file
  EXPECT_EQ(code_of(answer_of(200, {"ETag: \"v1\"", "Content-Length: 100"}), asked), "remote-changed");
}

TEST(Answers, WholeOnes) {
  EXPECT_EQ(code_of(answer_of(200, {}), range(1000, 10)), "taken");
  EXPECT_EQ(code_of(answer_of(200, {}), range(max_whole_answer + 1, 10)), "remote-answer");
  Asked whole = range(0, 100);
  whole.is_whole = true;
  EXPECT_EQ(code_of(answer_of(200, {"Content-Length: 100"}), whole), "taken");
  EXPECT_EQ(code_of(answer_of(200, {"Content-Length: 101"}), whole), "remote-answer");
}

TEST(Answers, EncodedOnesAndPagesAreRefused) {
  EXPECT_EQ(code_of(answer_of(200, {"Content-Encoding: gzip"}), range(0, 10)), "remote-answer");
  EXPECT_EQ(code_of(answer_of(200, {"Content-Encoding: Identity"}), range(0, 10)), "taken");
  EXPECT_EQ(code_of(answer_of(200, {"Content-Type: Text/HTML; charset=utf-8"}), range(0, 10)), "remote-answer");
}

TEST(Refusals, WhatMayPassAndHowLongToWait) {
  for (const long status : {408L, 429L, 500L, 502L, 503L, 504L})
    EXPECT_TRUE(refusal(answer_of(status, {}), false).again) << status;
  for (const long status : {400L, 401L, 403L, 404L, 410L, 416L, 501L, 505L}) {
    EXPECT_FALSE(refusal(answer_of(status, {}), false).again) << status;
  }
  EXPECT_EQ(refusal(answer_of(503, {"Retry-After: 60"}), false).wait, 60u);
  const Failure late = refusal(answer_of(503, {"Retry-After: 61"}), false);
  EXPECT_FALSE(late.again);
  EXPECT_NE(late.message.find("61 seconds"), std::string::npos);
  EXPECT_EQ(refusal(answer_of(503, {"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"}), false).wait, 0u);
  EXPECT_EQ(refusal(answer_of(429, {"RateLimit: \"api\";r=0;t=3"}), false).wait, 3u);
  EXPECT_EQ(refusal(answer_of(429, {"RateLimit: \"api\";r=0;t="}), false).wait, 0u);
}

TEST(Refusals, SayWhatToDo) {
  const auto says = [](const Failure& failure, const char* words) {
    return failure.message.find(words) != std::string::npos;
  };
  EXPECT_TRUE(says(refusal(answer_of(403, {"X-Error-Code: GatedRepo"}), true), "gated"));
  EXPECT_TRUE(says(refusal(answer_of(401, {}), false), "needs a token"));
  EXPECT_TRUE(says(refusal(answer_of(401, {}), true), "was rejected"));
  EXPECT_TRUE(says(refusal(answer_of(404, {"X-Error-Code: RevisionNotFound"}), true), "no such revision"));
  EXPECT_EQ(refusal(answer_of(404, {}), false).code, "remote-missing");
  EXPECT_EQ(refusal(answer_of(403, {}), false).code, "remote-status");
}

}  // namespace
}  // namespace fetch
