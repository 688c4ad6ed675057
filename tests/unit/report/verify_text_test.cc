#include "report/verify_text.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

Finding about(Severity severity, std::string code, std::string where, std::string message) {
  return {.severity = severity,
          .scope = Scope::model,
          .code = std::move(code),
          .message = std::move(message),
          .where = std::move(where)};
}

VerifyReport with(Findings findings, std::string path = "m") {
  VerifyReport report;
  report.path = std::move(path);
  report.format = "gguf";
  for (const Finding& finding : findings) {
    report.errors += finding.severity == Severity::error;
    report.warnings += finding.severity == Severity::warning;
  }
  report.findings = std::move(findings);
  return report;
}

std::string text(const VerifyReport& report, VerifyTextOptions options = {}) {
  return VerifyText(options).add(report);
}

TEST(VerifyText, EscapesAndCounts) {
  VerifyReport report;
  report.path = "a\x1b[31m.gguf";
  report.format = "gguf";
  report.errors = 1;
  report.warnings = 2;
  report.findings.push_back(
      {.code = "x-y", .message = "is\nwrong", .where = "key 'k\x07'", .offset = 12, .file = "part"});
  EXPECT_EQ(text(report),
            "a\\u{1b}[31m.gguf: part: error: byte 12: key 'k\\u{7}': is\\nwrong [x-y]\n"
            "a\\u{1b}[31m.gguf: 1 error, 2 warnings\n");
  report.findings.push_back(about(Severity::warning, "x-z", {}, "is odd"));
  EXPECT_EQ(text(report, {.errors_only = true}).find("x-z"), std::string::npos);
  EXPECT_NE(text(report, {.errors_only = true}).find("1 error, 2 warnings\n"), std::string::npos);
  const VerifyReport odd{.path = "m", .format = "gguf", .warnings = 1};
  EXPECT_EQ(text(odd, {.errors_only = true}), "");
  EXPECT_EQ(text(odd, {.errors_only = true, .strict = true}), "m: 0 errors, 1 warning\n");
  EXPECT_NE(text(report, {.color = true}).find("\x1b[1;31merror"), std::string::npos);
}

TEST(VerifyText, OkSaysWhatWasChecked) {
  EXPECT_EQ(text({.path = "m", .format = "gguf", .checked = "GGUF v3, 2 tensors, structure and values"}),
            "m: ok (GGUF v3, 2 tensors, structure and values)\n");
  EXPECT_EQ(text({.path = "m", .format = "gguf"}, {.errors_only = true}), "");
}

TEST(VerifyText, LinesAreWrappedBetweenWords) {
  VerifyReport report =
      with({about(Severity::error, "x-nan", "", "values of blk.0.attn_q.weight are not finite and cannot be used")});
  EXPECT_EQ(text(report, {.width = 40}),
            "m: error: values of blk.0.attn_q.weight\n"
            "  are not finite and cannot be used\n"
            "  [x-nan]\n"
            "m: 1 error, 0 warnings\n");
  // Colours take no columns.
  std::string plain = text(report, {.color = true, .width = 40});
  for (const std::string_view code : {"\x1b[1m", "\x1b[1;31m", "\x1b[0m"}) {
    for (std::size_t at; (at = plain.find(code)) != plain.npos;) plain.erase(at, code.size());
  }
  EXPECT_EQ(plain, text(report, {.width = 40}));
  // A word that is wider than the terminal stays whole.
  report = {.path = "a-path-of-more-columns", .format = "gguf", .checked = "GGUF v3, 2 tensors"};
  EXPECT_EQ(text(report, {.width = 20}), "a-path-of-more-columns: ok\n  (GGUF v3, 2\n  tensors)\n");
}

TEST(VerifyText, WhatLeadsIsSaidBeforeItsPlace) {
  Finding cut = about(Severity::error, "x-cut", "tensor 'a'", "incomplete");
  cut.offset = 7;
  cut.leads = true;
  EXPECT_EQ(text(with({cut})), "m: error: incomplete (byte 7: tensor 'a') [x-cut]\nm: 1 error, 0 warnings\n");
}

TEST(VerifyText, ThreeOrMoreOfAKindAreOneLine) {
  const auto nan = [](std::string where, std::string message) {
    return about(Severity::error, "x-nan", std::move(where), std::move(message));
  };
  const Findings three = {nan("tensor 'a'", "12 NaN, 1.5e-05 at 'q'"), about(Severity::error, "x-inf", {}, "has Inf"),
                          nan("tensor 'b'", "7 NaN, 0.25 at 'rr'"), nan("tensor 'c'", "1,000 NaN, 3 at ''")};
  EXPECT_EQ(text(with(three)),
            "m: error: tensor 'a': 12 NaN, 1.5e-05 at 'q' (the first of 3; -v lists all) [x-nan]\n"
            "m: error: has Inf [x-inf]\n"
            "m: 4 errors, 0 warnings\n");
  EXPECT_EQ(text(with(three), {.all = true}),
            "m: error: tensor 'a': 12 NaN, 1.5e-05 at 'q' [x-nan]\n"
            "m: error: has Inf [x-inf]\n"
            "m: error: tensor 'b': 7 NaN, 0.25 at 'rr' [x-nan]\n"
            "m: error: tensor 'c': 1,000 NaN, 3 at '' [x-nan]\n"
            "m: 4 errors, 0 warnings\n");
  // Two lines are clearer than one with a count; a different text is a separate finding.
  EXPECT_EQ(text(with({three[0], three[2], nan("tensor 'd'", "7 NaN and 0.25 at 'rr'")})).find("first of"),
            std::string::npos);
}

TEST(VerifyText, AManifestNamesEachTensor) {
  Findings missing;
  for (const std::string_view name : {"a", "b", "c"}) {
    missing.push_back(about(Severity::error, "manifest-missing", std::string(name), "is not in the model"));
  }
  EXPECT_EQ(text(with(missing)),
            "m: error: a: is not in the model [manifest-missing]\n"
            "m: error: b: is not in the model [manifest-missing]\n"
            "m: error: c: is not in the model [manifest-missing]\n"
            "m: 3 errors, 0 warnings\n");
}

TEST(VerifyText, NotesOfEarlierPathsAreOnlyCounted) {
  const auto unaligned = [](u64 byte) {
    return about(Severity::note, "x-align", {}, "begins at byte " + std::to_string(byte));
  };
  const auto odd = about(Severity::warning, "x-odd", {}, "is odd");
  VerifyText lines({});
  EXPECT_EQ(lines.add(with({unaligned(3), unaligned(5)}, "a")),
            "a: note: begins at byte 3 [x-align]\na: note: begins at byte 5 [x-align]\na: ok\n");
  EXPECT_EQ(lines.add(with({unaligned(9), odd}, "b")), "b: warning: is odd [x-odd]\nb: 0 errors, 1 warning\n");
  EXPECT_EQ(lines.add(with({unaligned(1), unaligned(2), odd}, "c")),
            "c: warning: is odd [x-odd]\nc: 0 errors, 1 warning\n");
  EXPECT_EQ(lines.finish(), "2 more paths: note: begins at byte 3 (-v lists all) [x-align]\n");

  // The file and place of the first finding differ from those of the others.
  Finding first = about(Severity::note, "x-align", "data", "is odd"), second = first;
  first.file = "one.safetensors";
  first.offset = 70;
  second.file = "two.safetensors";
  VerifyText files({});
  EXPECT_EQ(files.add(with({first}, "a")), "a: one.safetensors: note: byte 70: data: is odd [x-align]\na: ok\n");
  EXPECT_EQ(files.add(with({second}, "b")), "b: ok\n");
  EXPECT_EQ(files.finish(), "1 more path: note: is odd (-v lists all) [x-align]\n");

  VerifyText all({.all = true});
  (void)all.add(with({unaligned(3)}, "a"));
  EXPECT_EQ(all.add(with({unaligned(9)}, "b")), "b: note: begins at byte 9 [x-align]\nb: ok\n");
  EXPECT_EQ(all.finish(), "");
}

}  // namespace
}  // namespace modelutils
