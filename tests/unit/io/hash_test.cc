#include "io/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace modelutils {
namespace {

Bytes as_bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string digest_of(HashAlgorithm algorithm, std::string_view text) {
  Hasher hasher(algorithm);
  hasher.update(as_bytes_of(text));
  return hasher.hex_digest();
}

// Published test vectors (FIPS 180), and the output of reference programs (sha1sum, sha256sum, xxh64sum, xxh128sum).
TEST(Hash, KnownDigests) {
  EXPECT_EQ(digest_of(HashAlgorithm::sha256, "abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of(HashAlgorithm::sha256, ""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of(HashAlgorithm::sha1, "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  // RFC 7693, appendix A.
  EXPECT_EQ(digest_of(HashAlgorithm::blake2b, "abc"),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh64, ""), "ef46db3751d8e999");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh64, "abc"), "44bc2cf5ad770999");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, ""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, "abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, PiecesAndReset) {
  std::string text(100000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 5);
  for (const auto algorithm : {HashAlgorithm::sha256, HashAlgorithm::sha1, HashAlgorithm::xxh3, HashAlgorithm::xxh64}) {
    const std::string whole = digest_of(algorithm, text);
    Hasher hasher(algorithm);
    hasher.update(as_bytes_of("something else"));
    hasher.reset();
    for (std::size_t i = 0; i < text.size(); i += 777)
      hasher.update(as_bytes_of(std::string_view(text).substr(i, 777)));
    Hasher moved = std::move(hasher);
    EXPECT_EQ(moved.hex_digest(), whole) << hash_name(algorithm);
    moved.reset();
    EXPECT_EQ(moved.hex_digest(), digest_of(algorithm, ""));
  }
}

TEST(Hash, Names) {
  for (const auto algorithm : {HashAlgorithm::sha256, HashAlgorithm::sha1, HashAlgorithm::xxh3, HashAlgorithm::xxh64}) {
    EXPECT_EQ(hash_from_name(hash_name(algorithm)), algorithm);
    EXPECT_EQ(Hasher(algorithm).digest().size() * 2, digest_of(algorithm, "x").size());
  }
  EXPECT_EQ(hash_from_name("md5"), std::nullopt);
  EXPECT_EQ(hash_from_name("SHA256"), std::nullopt);
}

}  // namespace
}  // namespace modelutils
