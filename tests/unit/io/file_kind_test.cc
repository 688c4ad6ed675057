#include "io/file_kind.h"

#include <gtest/gtest.h>

#include "io/random_access_file.h"

namespace modelutils {
namespace {

using namespace std::string_literals;

TEST(FileKind, KnowsBeginnings) {
  const std::pair<std::string, FileKind> cases[] = {
      {"", FileKind::empty},
      {"GGUF\x03", FileKind::gguf},
      {"tjgg", FileKind::gguf_legacy},
      {"BUMPWGT3", FileKind::bumpwgt},
      {"  \n<!DocType HTML>", FileKind::html},
      {"\xef\xbb\xbf<html>", FileKind::html},
      {"<?xml version", FileKind::xml},
      {"version https://git-lfs.github.com/spec/v1\noid", FileKind::git_lfs},
      {"PK\x03\x04", FileKind::zip},
      {"\x80\x02}q", FileKind::pickle},
      // the start of a safetensors header of 640 bytes
      {std::string("\x80\x02\0\0\0\0\0\0{\"a", 11), FileKind::unknown},
      {"\x93NUMPY\x01", FileKind::numpy},
      {"\x1f\x8b\x08\x00"s, FileKind::gzip},
      {"\x28\xb5\x2f\xfd", FileKind::zstd},
      {"BZh9", FileKind::bzip2},
      {std::string(257, 'n') + "ustar", FileKind::tar},
      {"%PDF-1.7", FileKind::pdf},
      {"\x7f"
       "ELF\x02",
       FileKind::elf},
      {std::string(512, '\0'), FileKind::zeros},
      {std::string(8, '\0'), FileKind::unknown},
      {"FUGG", FileKind::unknown},
      {"GGU", FileKind::unknown},
  };
  for (const auto& [head, kind] : cases) {
    EXPECT_EQ(file_kind(head), kind) << head.substr(0, 10);
    const auto span = std::as_bytes(std::span(head));
    EXPECT_EQ(file_kind(MemoryFile({span.begin(), span.end()})), kind);
  }
}

TEST(FileKind, EveryKindHasAText) {
  for (int kind = 0; kind <= static_cast<int>(FileKind::zeros); ++kind) {
    EXPECT_FALSE(file_kind_text(static_cast<FileKind>(kind)).empty()) << kind;
  }
}

TEST(FileKind, ReadsTheHead) {
  const std::string text(1000, 'x');
  const auto span = std::as_bytes(std::span(text));
  const MemoryFile file({span.begin(), span.end()});
  EXPECT_EQ(read_head(file).size(), file_kind_bytes);
  EXPECT_EQ(read_head(file, 2000), text);
}

}  // namespace
}  // namespace modelutils
