// verify --data on catalogs in memory.
#include "verify/data_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "io/random_access_file.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"
#include "verify/verify.h"

namespace modelutils {
namespace {

// A catalog of one file whose tensors stand one after another.
class Builder {
 public:
  Builder& tensor(std::string name, TensorType type, std::string data) {
    tensors_.push_back({std::move(name), type, {data.size()}, 0, bytes_.size(), data.size()});
    bytes_ += data;
    return *this;
  }
  Catalog build() const {
    const auto bytes = std::as_bytes(std::span(bytes_));
    Catalog catalog;
    catalog.files.push_back(
        {"m", "m", std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()))});
    catalog.tensors = tensors_;
    return catalog;
  }

 private:
  std::string bytes_;
  std::vector<CatalogTensor> tensors_;
};

template <typename T>
std::string values(std::size_t count, std::initializer_list<std::pair<std::size_t, T>> special) {
  std::vector<T> all(count, T{1});
  for (const auto& [index, value] : special) all[index] = value;
  return std::string(reinterpret_cast<const char*>(all.data()), count * sizeof(T));
}

FindingLog check(const Catalog& catalog, unsigned threads = 2) {
  FindingLog log;
  check_data(catalog, threads, log);
  return log;
}

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(DataCheck, FiniteValuesHaveNoFinding) {
  EXPECT_EQ(check(Builder().tensor("a", TensorType::F32, values<float>(1000, {})).build()).findings().size(), 0u);
}

TEST(DataCheck, NamesTheTensorTheElementItsOffsetAndTheNumber) {
  const Findings findings = check(Builder()
                                      .tensor("a", TensorType::F32, values<float>(10, {}))
                                      .tensor("b", TensorType::F32, values<float>(10, {{3, nan_value}, {7, infinity}}))
                                      .build())
                                .findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "data-nan");
  EXPECT_EQ(findings[0].where, "tensor 'b'");
  EXPECT_EQ(findings[0].offset, 40u + 12u);
  EXPECT_EQ(findings[0].message, "element 3 of 10 is NaN (F32); 2 bad values in this tensor");
  EXPECT_EQ(findings[0].scope, Scope::data);
}

TEST(DataCheck, TheFirstOfManyPiecesIsTheOneThatIsNamed) {
  // 1 MiB and a bit: several pieces on two threads, the last one short.
  const std::size_t count = (1 << 18) + 3;
  const Catalog catalog =
      Builder().tensor("a", TensorType::F32, values<float>(count, {{count - 1, nan_value}, {70000, infinity}})).build();
  for (int i = 0; i < 20; ++i) {
    const Findings findings = check(catalog).findings();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].code, "data-inf");
    EXPECT_EQ(findings[0].offset, 280000u);
  }
}

TEST(DataCheck, BlocksAreNamedWithTheirElements) {
  std::string blocks(18 * 4, '\0');
  blocks[18 * 2] = 0x00;
  blocks[18 * 2 + 1] = 0x7c;  // d of block 2 is infinite
  const Findings findings = check(Builder().tensor("q", TensorType::Q4_0, blocks).build()).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "data-inf");
  EXPECT_EQ(findings[0].offset, 36u);
  EXPECT_EQ(findings[0].message, "block 2 of 4 (elements 64 to 95): d is Inf (Q4_0); 1 bad block in this tensor");
}

TEST(DataCheck, BoolsAreWarningsAndIntegersAreNotRead) {
  const FindingLog log = check(Builder()
                                   .tensor("b", TensorType::BOOL, std::string("\0\1\2", 3))
                                   .tensor("i", TensorType::I32, std::string(64, '\xff'))
                                   .build());
  EXPECT_EQ(log.errors(), 0u);
  EXPECT_EQ(log.warnings(), 1u);
  EXPECT_EQ(log.findings()[0].code, "data-bool");
}

TEST(DataCheck, BigEndianDataIsNotLookedAt) {
  Catalog catalog = Builder().tensor("a", TensorType::F32, values<float>(4, {{0, nan_value}})).build();
  catalog.big_endian = true;
  const FindingLog log = check(catalog);
  EXPECT_EQ(log.errors(), 0u);
  EXPECT_EQ(log.findings()[0].code, "data-big-endian");
}

// A file that ends before it said it would.
class ShrunkFile : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  Result<std::size_t> read_some(u64 offset, MutableBytes) const override {
    return input_error("io-shrunk", "the file became shorter while it was read", {}, offset, "m");
  }
};

TEST(DataCheck, AFileThatShrinksIsAFinding) {
  Catalog catalog = Builder().tensor("a", TensorType::F32, values<float>(4, {})).build();
  catalog.files[0].source = std::make_shared<ShrunkFile>(std::vector<std::byte>());
  const FindingLog log = check(catalog);
  EXPECT_EQ(log.errors(), 1u);
  EXPECT_EQ(log.findings()[0].code, "io-shrunk");
  EXPECT_EQ(log.findings()[0].where, "tensor 'a'");
}

TEST(DataCheck, ProgressReachesTheTotal) {
  const Catalog catalog = Builder().tensor("a", TensorType::F32, values<float>(200000, {})).build();
  FindingLog log;
  Progress progress;
  check_data(catalog, 2, log, &progress);
  EXPECT_EQ(progress.done(), 800000u);
}

}  // namespace
}  // namespace modelutils
