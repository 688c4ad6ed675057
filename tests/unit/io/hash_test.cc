#include "io/hash.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "base/escape.h"

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
  EXPECT_EQ(digest_of(HashAlgorithm::xxh64, ""), "ef46db3751d8e999");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh64, "abc"), "44bc2cf5ad770999");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, ""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, "abc"), "06b05ab6733a618578af5f94892f3950");
}

std::string long_text() {
  std::string text(100000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 5);
  return text;
}

// The output of Python's hashlib and of libxxhash.
TEST(Hash, KnownDigestsOfLongTexts) {
  const std::string text = long_text();
  EXPECT_EQ(digest_of(HashAlgorithm::sha256, text), "297c9e5ffb01648af080cf2a06c2d634a430ccb956f6ddab4a78631125fc7378");
  EXPECT_EQ(digest_of(HashAlgorithm::sha1, text), "2c4df078a3a8d64444351665667b78f89ae85caf");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh64, text), "e1c3f1db1e3da8a5");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, text), "cc3689e912281a244f2805d314e0a9d8");
  // XXH3 treats these lengths differently.
  const std::string_view start(text);
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, start.substr(0, 240)), "cc70a5e545c3c4973c0f9e3e8ed0c971");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, start.substr(0, 241)), "9d875b7ef5a2f35b8532be2d3d613087");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, start.substr(0, 1024)), "c1addd2d725dd992dcb5a0880678fd38");
  EXPECT_EQ(digest_of(HashAlgorithm::xxh3, start.substr(0, 1025)), "ace45181c5fe087288ab30fde2681fb3");
  const std::string digest = xxh3_digest(as_bytes_of(text));
  EXPECT_EQ(hex(as_bytes_of(digest)), "cc3689e912281a244f2805d314e0a9d8");
}

TEST(Hash, PiecesAndReset) {
  const std::string text = long_text();
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
  EXPECT_THROW(Hasher{HashAlgorithm::blake2b}, std::logic_error);
  EXPECT_EQ(hash_from_name("md5"), std::nullopt);
  EXPECT_EQ(hash_from_name("SHA256"), std::nullopt);
}

}  // namespace
}  // namespace modelutils
