#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

#include "base/log.h"

namespace modelutils {

namespace {

TEST(Place, SaysWhatItNames) {
  EXPECT_EQ(at_tensor("a").text(), "tensor 'a'");
  EXPECT_EQ(at_key("a.b").text(), "key 'a.b'");
  EXPECT_EQ(at_field("rope_theta").text(), "config.json field 'rope_theta'");
  EXPECT_EQ(at_module("model.layers.0").text(), "module 'model.layers.0'");
  EXPECT_EQ(at_file("a.gguf").text(), "file 'a.gguf'");
}

TEST(Place, CutsALongNameBetweenTwoCharacters) {
  EXPECT_EQ(at_key(std::string(120, 'a')).text(), "key '" + std::string(120, 'a') + "'");
  // ä takes two bytes and would end at 121.
  EXPECT_EQ(at_tensor(std::string(119, 'a') + "äöü" + std::string(1 << 20, 'b')).text(),
            "tensor '" + std::string(119, 'a') + "…'");
}

// The results point into the argument, so a temporary must not be accepted.
template <typename T>
concept HasFirstErrors = requires(T&& findings) {
  first_error(std::forward<T>(findings));
  first_container_error(std::forward<T>(findings));
};
template <typename T>
concept HasFirstError = requires(T&& findings) {
  first_error(std::forward<T>(findings));
};
template <typename T>
concept HasFirstContainerError = requires(T&& findings) {
  first_container_error(std::forward<T>(findings));
};
static_assert(HasFirstErrors<const Findings&> && HasFirstErrors<FindingLog&> &&
              HasFirstErrors<std::span<const Finding>>);
static_assert(!HasFirstError<Findings> && !HasFirstError<FindingLog> && !HasFirstError<const Findings>);
static_assert(!HasFirstContainerError<Findings> && !HasFirstContainerError<FindingLog>);

Finding finding(Severity severity, Scope scope, std::string code) {
  return {.severity = severity, .scope = scope, .code = std::move(code), .message = "m", .where = "w", .offset = 7};
}

TEST(Finding, FindsWhatStopsADumperAndAConverter) {
  const Findings findings = {finding(Severity::warning, Scope::container, "1"),
                             finding(Severity::error, Scope::data, "2"), finding(Severity::error, Scope::model, "3"),
                             finding(Severity::error, Scope::container, "4")};
  EXPECT_EQ(first_container_error(findings)->code, "4");
  EXPECT_EQ(first_error(findings)->code, "3");
  EXPECT_EQ(first_container_error({}), nullptr);
  EXPECT_EQ(first_error(std::span(findings).first(2)), nullptr);
}

TEST(Finding, WhatLeadsComesBeforeOtherErrors) {
  Findings findings = {finding(Severity::error, Scope::container, "1"), finding(Severity::warning, Scope::model, "2"),
                       finding(Severity::error, Scope::container, "3")};
  findings[1].leads = findings[2].leads = true;
  EXPECT_EQ(first_container_error(findings)->code, "3");
  EXPECT_EQ(first_error(findings)->code, "3");
  EXPECT_TRUE(without_path(with_path(findings[2], "m")).leads);
}

TEST(Finding, SaysThePlaceBeforeTheMessageOrAfterWhatLeads) {
  Finding one = finding(Severity::error, Scope::model, "code");
  one.where = "key 'a\x07'";
  EXPECT_EQ(placed_message(one), "byte 7: key 'a\\u{7}': m");
  one.leads = true;
  EXPECT_EQ(placed_message(one), "m (byte 7: key 'a\\u{7}')");
  EXPECT_EQ(placed_message(with_path(one, "m")), "m (byte 7: key 'a\\u{7}')");
  one.where.clear();
  EXPECT_EQ(placed_message(one), "m (byte 7)");
  one.offset.reset();
  EXPECT_EQ(placed_message(one), "m");
}

TEST(Finding, IsNamedByItsPathWhereItStopsATool) {
  Finding one = finding(Severity::error, Scope::model, "code");
  EXPECT_EQ(with_path(one, "set.gguf").file, "set.gguf");
  EXPECT_EQ(with_path(one, "set.gguf").offset, 7u);
  one.file = "part.gguf";
  EXPECT_EQ(with_path(one, "set.gguf").file, "part.gguf");
  EXPECT_EQ(with_path(one, "some/folder/set.gguf").file, "some/folder/part.gguf");
  const std::string folder = testing::TempDir();
  const std::string bare = folder.ends_with('/') ? folder.substr(0, folder.size() - 1) : folder;
  EXPECT_EQ(with_path(one, bare).file, bare + "/part.gguf");
  EXPECT_EQ(with_path(one, bare + "/").file, bare + "/part.gguf");
}

TEST(Finding, IsNamedByItsBaseNameInAList) {
  const Finding error = with_path(finding(Severity::error, Scope::container, "code"), "some/folder/set.gguf");
  const Finding listed = without_path(error, Scope::data);
  EXPECT_EQ(listed.file, "");
  EXPECT_EQ(listed.scope, Scope::data);
  EXPECT_EQ(listed.code, "code");
  EXPECT_EQ(listed.where, "w");
  EXPECT_EQ(without_path(error, Scope::model, "config.json").file, "config.json");
}

TEST(Finding, Severities) {
  EXPECT_EQ(severity_name(Severity::note), "note");
  EXPECT_EQ(severity_name(Severity::warning), "warning");
  EXPECT_EQ(severity_name(Severity::error), "error");
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

TEST(Error, Texts) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
}

}  // namespace

}  // namespace modelutils
