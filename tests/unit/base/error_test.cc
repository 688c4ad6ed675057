#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace modelutils {
namespace {

Finding finding(Severity severity, Scope scope, std::string code) {
  return {severity, scope, std::move(code), 7, "w", "m", {}};
}

Result<int> half(int value) {
  if (value % 2 != 0) return input_error("odd", "is odd");
  return value / 2;
}
Result<int> quarter(int value) {
  MU_ASSIGN(const int once, half(value));
  MU_ASSIGN(const int twice, half(once));
  return twice;
}
Status is_even(int value) {
  MU_TRY(half(value));
  return {};
}

TEST(Error, TravelsUpTheMacros) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().code, "odd");
  EXPECT_TRUE(is_even(2).has_value());
  EXPECT_EQ(is_even(3).error().message, "is odd");
}

TEST(Error, KindsDecideTheExitStatus) {
  EXPECT_EQ(input_error("c", "m").value().kind, ErrorKind::input);
  EXPECT_EQ(output_error("c", "m", "f").value().kind, ErrorKind::output);
  EXPECT_EQ(usage_error("m").value().kind, ErrorKind::usage);
  EXPECT_EQ(internal_error("m").value().kind, ErrorKind::internal);
  EXPECT_EQ(no_match_error("w", "m", "f").value().kind, ErrorKind::no_match);
}

TEST(Error, InFileKeepsAFileThatIsNamed) {
  EXPECT_EQ(in_file(input_error("c", "m").value(), "new").file, "new");
  EXPECT_EQ(in_file(input_error("c", "m", {}, {}, "old").value(), "new").file, "old");
}

TEST(Error, FindsWhatStopsADumperAndAConverter) {
  const Findings findings = {finding(Severity::warning, Scope::container, "1"),
                             finding(Severity::error, Scope::data, "2"), finding(Severity::error, Scope::model, "3"),
                             finding(Severity::error, Scope::container, "4")};
  EXPECT_EQ(first_container_error(findings)->code, "4");
  EXPECT_EQ(first_error(findings)->code, "3");
  EXPECT_EQ(first_container_error({}), nullptr);
  EXPECT_EQ(first_error({findings[0], findings[1]}), nullptr);
}

TEST(Error, WhatLeadsComesBeforeOtherErrors) {
  Findings findings = {finding(Severity::error, Scope::container, "1"), finding(Severity::warning, Scope::model, "2"),
                       finding(Severity::error, Scope::container, "3")};
  findings[1].leads = findings[2].leads = true;
  EXPECT_EQ(first_container_error(findings)->code, "3");
  EXPECT_EQ(first_error(findings)->code, "3");
  EXPECT_TRUE(to_finding(to_error(findings[2], "m")).leads);
}

TEST(Error, SaysThePlaceBeforeTheMessageOrAfterWhatLeads) {
  Finding one = finding(Severity::error, Scope::model, "code");
  one.where = "key 'a\x07'";
  EXPECT_EQ(placed_message(one), "byte 7: key 'a\\u{7}': m");
  one.leads = true;
  EXPECT_EQ(placed_message(one), "m (byte 7: key 'a\\u{7}')");
  EXPECT_EQ(placed_message(to_error(one, "m")), "m (byte 7: key 'a\\u{7}')");
  one.where.clear();
  EXPECT_EQ(placed_message(one), "m (byte 7)");
  one.offset.reset();
  EXPECT_EQ(placed_message(one), "m");
}

TEST(Error, FindingsAndErrorsTurnIntoEachOther) {
  Finding one = finding(Severity::error, Scope::model, "code");
  const Error error = to_error(one, "set.gguf");
  EXPECT_EQ(error.file, "set.gguf");
  EXPECT_EQ(error.offset, 7u);
  EXPECT_EQ(error.where, "w");
  one.file = "part.gguf";
  EXPECT_EQ(to_error(one, "set.gguf").file, "part.gguf");
  EXPECT_EQ(to_error(one, "some/folder/set.gguf").file, "some/folder/part.gguf");
  const std::string folder = testing::TempDir();
  const std::string bare = folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
  EXPECT_EQ(to_error(one, bare).file, bare + "/part.gguf");
  EXPECT_EQ(to_error(one, bare + "/").file, bare + "/part.gguf");
  const Finding back = to_finding(error, Scope::model);
  EXPECT_EQ(back.code, "code");
  EXPECT_EQ(back.severity, Severity::error);
  EXPECT_EQ(back.scope, Scope::model);
  EXPECT_EQ(back.message, "m");
}

TEST(Error, Texts) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
  EXPECT_EQ(severity_name(Severity::note), "note");
  EXPECT_EQ(severity_name(Severity::warning), "warning");
  EXPECT_EQ(severity_name(Severity::error), "error");
}

}  // namespace
}  // namespace modelutils
