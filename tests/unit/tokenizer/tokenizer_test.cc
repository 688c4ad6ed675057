#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

namespace modelutils::tokenizer {

namespace {

TEST(ByteTokens, AreSixCharactersOfOneForm) {
  EXPECT_EQ(byte_token_value("<0x00>"), 0u);
  EXPECT_EQ(byte_token_value("<0xaF>"), 0xafu);
  for (const char* other :
       {"", "<0x0>", "<0x000>", "(0x41>", "<1x41>", "abc41>", "<0x41)", "<0x4g>", "<0xg4>", "<0x 4>"}) {
    EXPECT_FALSE(byte_token_value(other)) << other;
  }
  EXPECT_EQ(byte_token(0xaf), "<0xAF>");
  EXPECT_EQ(byte_token(9), "<0x09>");
}

// GPT-2's bytes_to_unicode() table: the boundaries of its three ranges, and the first and last of the other bytes.
TEST(ByteTokens, SymbolsAreThoseOfByteLevelBpe) {
  EXPECT_EQ(byte_symbol('!'), "!");
  EXPECT_EQ(byte_symbol('~'), "~");
  EXPECT_EQ(byte_symbol(0xa1), "\u00a1");
  EXPECT_EQ(byte_symbol(0xac), "\u00ac");
  EXPECT_EQ(byte_symbol(0xae), "\u00ae");
  EXPECT_EQ(byte_symbol(0xff), "\u00ff");
  EXPECT_EQ(byte_symbol(0), "\u0100");
  EXPECT_EQ(byte_symbol(' '), "\u0120");
  EXPECT_EQ(byte_symbol(0x7f), "\u0121");
  EXPECT_EQ(byte_symbol(0xa0), "\u0142");
  EXPECT_EQ(byte_symbol(0xad), "\u0143");
}

}  // namespace

}  // namespace modelutils::tokenizer
