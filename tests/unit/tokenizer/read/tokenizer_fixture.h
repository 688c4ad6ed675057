// Shared by the tokenizer tests: reads a directory made for a test, and looks for findings.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "support/temp_dir.h"
#include "support/tokenizer_builder.h"
#include "tokenizer/read/read_tokenizer.h"

namespace modelutils::test {

inline const Finding* find_code(std::span<const Finding> findings, std::string_view code) {
  const auto at = std::find_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.code == code; });
  return at == findings.end() ? nullptr : &*at;
}

inline std::string codes(std::span<const Finding> findings) {
  std::string text;
  for (const Finding& finding : findings) text += finding.code + " ";
  return text;
}

/// A directory with tokenizer files. read() must succeed, error() must fail.
class TokenizerFolder : public testing::Test {
 protected:
  tokenizer::Tokenizer read(u64 rows) {
    options.embedding_rows = rows;
    auto result = tokenizer::read_tokenizer(dir.path(), options);
    if (!result) {
      ADD_FAILURE() << result.error().where << ": " << result.error().message << " [" << result.error().code << "]";
      return {};
    }
    EXPECT_EQ(result->tokens.size(), rows);
    EXPECT_EQ(result->types.size(), rows);
    EXPECT_EQ(result->scores.size(), tokenizer::has_scores(result->kind) ? rows : 0);
    return std::move(*result);
  }
  tokenizer::Tokenizer read(const TokenizerJson& json, u64 rows) {
    dir.write("tokenizer.json", json.text());
    return read(rows);
  }
  Error error(u64 rows) {
    options.embedding_rows = rows;
    auto result = tokenizer::read_tokenizer(dir.path(), options);
    if (result) {
      ADD_FAILURE() << "was read: " << codes(result->findings);
      return {};
    }
    return result.error();
  }
  Error error(const TokenizerJson& json, u64 rows) {
    dir.write("tokenizer.json", json.text());
    return error(rows);
  }

  TempDir dir;
  tokenizer::TokenizerOptions options;
};

inline i32 number(tokenizer::TokenType type) {
  return static_cast<i32>(type);
}

}  // namespace modelutils::test
