#include "verify/manifest/blake2b.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

std::string blake2b_of(std::string_view text) {
  Hasher hasher = hasher_for(HashAlgorithm::blake2b);
  hasher.update(std::as_bytes(std::span(text)));
  return hasher.hex_digest();
}

TEST(Blake2b, KnownDigests) {
  // RFC 7693, appendix A.
  EXPECT_EQ(blake2b_of("abc"),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
  // Python's hashlib.
  EXPECT_EQ(blake2b_of(""),
            "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
            "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce");
}

TEST(Blake2b, PiecesAndReset) {
  Hasher hasher = hasher_for(HashAlgorithm::blake2b);
  hasher.update(std::as_bytes(std::span("something else")));
  hasher.reset();
  for (const std::string_view piece : {"a", "", "bc"}) hasher.update(std::as_bytes(std::span(piece)));
  EXPECT_EQ(hasher.hex_digest(), blake2b_of("abc"));
  hasher.reset();
  EXPECT_EQ(hasher.hex_digest(), blake2b_of(""));
}

TEST(Blake2b, OtherAlgorithms) {
  Hasher hasher = hasher_for(HashAlgorithm::xxh64);
  EXPECT_EQ(hasher.hex_digest(), "ef46db3751d8e999");
}

}  // namespace
}  // namespace modelutils
