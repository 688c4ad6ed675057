// verify as a whole: detection, reports, manifests for several paths.
#include "verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/os/files.h"
#include "report/verify_text.h"
#include "rules/formats.h"
#include "support/gguf_builder.h"
#include "support/safetensors_builder.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::GgufBuilder;

std::vector<VerifyReport> run(const std::vector<std::string>& paths, const VerifyOptions& options = {}) {
  std::vector<VerifyReport> reports;
  const Status done = verify_paths(paths, options, [&](const VerifyReport& report) { reports.push_back(report); });
  EXPECT_TRUE(done.has_value()) << done.error().message;
  return reports;
}

std::string model() {
  return GgufBuilder().key_string("general.architecture", "test").f32_tensor("a", {8}).f32_tensor("b", {8}).build();
}

TEST(Verify, FormatsHaveDifferentNames) {
  for (std::size_t i = 0; i < all_formats().size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all_formats()[i].format, all_formats()[j].format);
  }
}

TEST(Verify, ARecognisedFileIsNeverUnreadable) {
  const test::TempDir folder;
  for (const char* text : {"GGUF", "GGUF\1", "GGUFxxxxxxxxxxxxxxxxxxxxxxxx"}) {
    const auto reports = run({folder.write("m.gguf", text)});
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].format, "gguf");
    EXPECT_FALSE(reports[0].unreadable.has_value());
    EXPECT_GT(reports[0].errors, 0u);
  }
}

TEST(Verify, OthersSayWhatTheyAre) {
  const test::TempDir folder;
  const auto message = [&](std::string_view content) {
    const auto reports = run({folder.write("m.gguf", content)});
    EXPECT_EQ(reports[0].format, "");
    EXPECT_EQ(reports[0].errors, 1u);
    return reports[0].unreadable.value().code + ": " + reports[0].unreadable->message;
  };
  EXPECT_NE(message("<!DOCTYPE html><html>").find("HTML"), std::string::npos);
  EXPECT_NE(message("version https://git-lfs.github.com/spec/v1\n").find("Git LFS"), std::string::npos);
  EXPECT_NE(message("PK\3\4").find("ZIP"), std::string::npos);
  EXPECT_NE(message("").find("empty"), std::string::npos);
  EXPECT_NE(message("tjgg").find("GGJT"), std::string::npos);
  EXPECT_TRUE(message("whatever").starts_with("verify-unknown-format"));
  EXPECT_EQ(run({folder.file("missing")})[0].unreadable->code, "io-open");
  EXPECT_EQ(run({folder.path() + "/."})[0].unreadable->code, "verify-unknown-format");
}

TEST(Verify, WhatCannotBeReadOutOfOrderSaysSo) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no FIFOs";
  const test::TempDir folder;
  const std::string fifo = folder.file("fifo");
  test::make_fifo(fifo);
  for (const std::string& path : {std::string("-"), fifo}) {
    const Error error = run({path})[0].unreadable.value();
    EXPECT_EQ(error.code, "io-not-regular");
    EXPECT_NE(error.message.find("save the input to a file first"), std::string::npos) << error.message;
  }
}

TEST(Verify, ADirectoryThatCannotBeListedSaysSo) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no permission bits";
  const test::TempDir folder;
  const std::string path = folder.file("m");
  ASSERT_TRUE(os::make_folder(path, 0));
  ASSERT_TRUE(os::set_mode(folder.path(), 0755));
  const test::AsNobody user;  // root can list every folder
  const Error error = run({path})[0].unreadable.value();
  EXPECT_EQ(error.code, "io-open");
  EXPECT_NE(error.message.find("Permission denied"), std::string::npos) << error.message;
}

TEST(Verify, SaysWhatWasRead) {
  const test::TempDir folder;
  Progress progress;
  VerifyOptions options;
  options.data = true;
  options.progress = &progress;
  const auto reports = run({folder.write("m.gguf", model())}, options);
  EXPECT_EQ(reports[0].files, 1u);
  EXPECT_EQ(reports[0].tensors, 2u);
  EXPECT_EQ(reports[0].bytes_read, 64u);
  options.data = false;
  EXPECT_EQ(run({folder.file("m.gguf")}, options)[0].bytes_read, 0u);
}

TEST(Verify, ManifestOverSeveralPaths) {
  const test::TempDir folder;
  const std::vector<std::string> paths = {folder.write("1.gguf", model()), folder.write("2.gguf", model())};
  std::string manifest;
  VerifyOptions options;
  options.hash = HashAlgorithm::xxh3;
  options.whole_file = true;
  options.manifest_line = [&](std::string_view line) { return manifest += line, true; };
  for (const VerifyReport& report : run(paths, options)) EXPECT_EQ(report.errors, 0u);
  EXPECT_EQ(std::count(manifest.begin(), manifest.end(), '\n'), 6);

  VerifyOptions check;
  check.manifest = folder.write("manifest", manifest);
  for (const VerifyReport& report : run(paths, check)) EXPECT_EQ(report.errors, 0u);
  const auto reports = run({paths[0]}, check);
  EXPECT_EQ(reports[0].errors, 1u);
  EXPECT_EQ(reports[0].findings.back().code, "manifest-missing-file");

  std::string changed = model();
  changed[changed.size() - 1] = 'x';
  folder.write("2.gguf", changed);
  const auto after = run(paths, check);
  EXPECT_EQ(after[0].errors, 0u);
  EXPECT_EQ(after[1].errors, 2u);
}

TEST(Verify, WrongRequestsAreErrors) {
  const test::TempDir folder;
  const std::string path = folder.write("m.gguf", model());
  const auto fail = [&](const VerifyOptions& options) {
    const Status done = verify_paths({path}, options, [](const VerifyReport&) {});
    return done ? std::string("none") : done.error().code;
  };
  VerifyOptions options;
  options.whole_file = true;
  EXPECT_EQ(fail(options), "usage");
  options = {};
  options.manifest = folder.write("manifest", "nonsense");
  EXPECT_EQ(fail(options), "manifest-syntax");
  options = {};
  options.against = folder.file("missing");
  EXPECT_EQ(fail(options), "io-open");
  options.against = folder.write("s.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  const auto reports = run({path}, options);
  EXPECT_EQ(reports[0].findings.back().code, "verify-no-parity");
  options.against = folder.write("x", "x");
  EXPECT_EQ(fail(options), "verify-unknown-format");
}

TEST(Verify, SaysWhatItLookedAt) {
  const test::TempDir folder;
  const std::string path = folder.write("m.gguf", model());
  const auto checked = [&](const VerifyOptions& options) { return run({path}, options)[0].checked; };
  EXPECT_EQ(checked({}), "GGUF v3, 2 tensors, structure only; --data reads the values");
  VerifyOptions options;
  options.data = true;
  EXPECT_EQ(checked(options), "GGUF v3, 2 tensors, structure and values");
  std::string manifest;
  VerifyOptions hash;
  hash.hash = HashAlgorithm::xxh3;
  hash.manifest_line = [&](std::string_view line) { return !manifest.append(line).empty(); };
  EXPECT_EQ(checked(hash), "GGUF v3, 2 tensors, structure only; --data reads the values");
  options.manifest = folder.write("manifest", manifest);
  EXPECT_EQ(checked(options), "GGUF v3, 2 tensors, structure, values and manifest");
}

TEST(Verify, TheNameMustNotBeThatOfAnotherFormat) {
  const test::TempDir folder;
  const auto codes = [&](std::string_view name, const std::string& bytes) {
    std::string found;
    const auto reports = run({folder.write(std::string(name), bytes)});
    for (const Finding& finding : reports.at(0).findings) found += finding.code;
    return found;
  };
  const std::string safetensors = test::SafetensorsBuilder().tensor("a", "U8", "[8]", std::string(8, 'x')).build();
  for (const std::string_view name : {"m.gguf", "m.GGUF", "m", "m.bin", "safetensors", ".gguf", "m.gguf.part"}) {
    EXPECT_EQ(codes(name, model()), "") << name;
  }
  EXPECT_EQ(codes("m.safetensors", model()), "verify-extension");
  EXPECT_EQ(codes("m.SafeTensors", model()), "verify-extension");
  EXPECT_EQ(codes("m.bump", model()), "verify-extension");
  EXPECT_EQ(codes("s.gguf", safetensors), "verify-extension");
  EXPECT_EQ(codes("s.safetensors", safetensors).find("verify"), std::string::npos);
  EXPECT_EQ(codes("s", safetensors).find("verify"), std::string::npos);
}

TEST(VerifyReport, SummaryOnOneLine) {
  EXPECT_EQ(
      verify_summary({.path = "m", .format = "gguf", .files = 1, .tensors = 2, .bytes_read = 64, .seconds = 0.25}),
      "m: gguf, 1 file, 2 tensors, 64 B of tensor data read, 0.250 s");
}

TEST(VerifyReport, JsonIsOneLineOfTheContract) {
  VerifyReport report;
  report.path = "m";
  EXPECT_EQ(verify_json(report, false),
            R"({"schema":"verify/1","path":"m","format":null,"verdict":"ok","errors":0,"warnings":0,"findings":[]})"
            "\n");
  report.format = "gguf";
  report.warnings = 1;
  report.findings.push_back(
      {.severity = Severity::warning, .scope = Scope::model, .code = "x-y", .message = "m\x1b", .where = "w"});
  EXPECT_EQ(verify_json(report, true),
            R"({"schema":"verify/1","path":"m","format":"gguf","verdict":"bad","errors":0,"warnings":1,"findings":[)"
            R"({"severity":"warning","code":"x-y","file":null,"offset":null,"where":"w","message":"m\u001b"}]})"
            "\n");
  EXPECT_NE(verify_json(report, false).find("\"verdict\":\"ok\""), std::string::npos);
}

}  // namespace
}  // namespace modelutils
