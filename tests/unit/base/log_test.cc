#include "base/log.h"

#include <gtest/gtest.h>

namespace modelutils {

namespace {

Finding finding(Severity severity, std::string code) {
  return {.severity = severity, .scope = Scope::model, .code = std::move(code), .message = "x"};
}

TEST(FindingLog, CountsErrorsAndWarningsButNotNotes) {
  FindingLog log;
  log.add(finding(Severity::error, "a-a"));
  log.add(finding(Severity::warning, "a-a"));
  log.add(finding(Severity::note, "a-b"));
  EXPECT_EQ(log.errors(), 1u);
  EXPECT_EQ(log.warnings(), 1u);
  EXPECT_EQ(log.findings().size(), 3u);
}

TEST(FindingLog, KeepsTheFirstOfEachKindAndSaysHowManyMore) {
  FindingLog log;
  for (int i = 0; i < 250; ++i) log.add(finding(Severity::error, "a-a"));
  log.add(finding(Severity::warning, "b-b"));
  EXPECT_EQ(log.errors(), 250u);
  const Findings findings = log.findings();
  ASSERT_EQ(findings.size(), FindingLog::kept_per_code + 2);
  EXPECT_EQ(findings.back().severity, Severity::note);
  EXPECT_EQ(findings.back().code, "a-a");
  EXPECT_EQ(findings.back().message, "150 more errors of this kind, not listed");
}

TEST(FindingLog, WhatLeadsIsListedFirst) {
  FindingLog log;
  log.add(finding(Severity::error, "a-a"));
  log.add(finding(Severity::error, "b-b"));
  Finding first = finding(Severity::error, "z-z");
  first.leads = true;
  log.add(first);
  const Findings findings = log.findings();
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].code, "z-z");
  EXPECT_EQ(findings[1].code, "a-a");
  EXPECT_EQ(findings[2].code, "b-b");
}

TEST(FindingLog, OneMoreIsSingular) {
  FindingLog log;
  for (u64 i = 0; i <= FindingLog::kept_per_code; ++i) log.add(finding(Severity::warning, "a-a"));
  EXPECT_EQ(log.findings().back().message, "1 more warning of this kind, not listed");
}

TEST(FindingLog, CountOnlyIsForWhatWouldNotBeKept) {
  FindingLog log;
  EXPECT_TRUE(log.keeps(Severity::error, "a-a"));
  for (u64 i = 0; i < FindingLog::kept_per_code; ++i) log.add(finding(Severity::error, "a-a"));
  EXPECT_FALSE(log.keeps(Severity::error, "a-a"));
  EXPECT_TRUE(log.keeps(Severity::warning, "a-a"));
  log.count_only(Severity::error, "a-a");
  EXPECT_EQ(log.errors(), FindingLog::kept_per_code + 1);
}

TEST(FindingLog, TakesOverAnotherLogWithItsCounts) {
  FindingLog part;
  for (int i = 0; i < 150; ++i) part.add(finding(Severity::warning, "a-a"));
  FindingLog log;
  for (int i = 0; i < 60; ++i) log.add(finding(Severity::warning, "a-a"));
  log.add_all(std::move(part));
  EXPECT_EQ(log.warnings(), 210u);
  EXPECT_EQ(log.findings().back().message, "110 more warnings of this kind, not listed");
}

TEST(FindingLog, NamesTheFileOnlyWhereNoneIsNamed) {
  FindingLog log;
  log.add(finding(Severity::error, "a-a"));
  Finding named = finding(Severity::error, "a-b");
  named.file = "other";
  log.add(named);
  log.set_file("one");
  EXPECT_EQ(log.findings()[0].file, "one");
  EXPECT_EQ(log.findings()[1].file, "other");
}

TEST(FindingLog, SpellsOnlyWhatItKeeps) {
  FindingLog log;
  int spelled = 0;
  for (u64 i = 0; i < FindingLog::kept_per_code + 5; ++i) {
    log.error(
        Scope::data, "a-a",
        [&] {
          ++spelled;
          return std::string("text");
        },
        at_tensor("t"), 12, "part.gguf");
  }
  EXPECT_EQ(spelled, static_cast<int>(FindingLog::kept_per_code));
  EXPECT_EQ(log.errors(), FindingLog::kept_per_code + 5);
  const Finding& first = log.front();
  EXPECT_EQ(first.severity, Severity::error);
  EXPECT_EQ(first.scope, Scope::data);
  EXPECT_EQ(first.message, "text");
  EXPECT_EQ(first.where, "tensor 't'");
  EXPECT_EQ(first.offset, 12u);
  EXPECT_EQ(first.file, "part.gguf");
}

TEST(FindingLog, SaysHowBadEachIs) {
  FindingLog log;
  log.warning(Scope::model, "a-a", "w");
  log.note(Scope::model, "a-b", "n", "somewhere");
  EXPECT_EQ(log[0].severity, Severity::warning);
  EXPECT_EQ(log[1].severity, Severity::note);
  EXPECT_EQ(log[1].where, "somewhere");
  EXPECT_EQ(log.errors(), 0u);
  EXPECT_EQ(log.warnings(), 1u);
}

TEST(FindingLog, TakesTheFileFromEveryFinding) {
  FindingLog log;
  log.error(Scope::model, "a-a", "x", {}, {}, "one");
  log.clear_file();
  EXPECT_EQ(log.front().file, "");
}

}  // namespace

}  // namespace modelutils
