#include "verify/finding_log.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

Finding finding(Severity severity, std::string code) {
  return {severity, Scope::model, std::move(code), {}, {}, "x", {}};
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

}  // namespace
}  // namespace modelutils
