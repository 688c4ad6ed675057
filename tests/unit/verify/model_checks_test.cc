#include "verify/model_checks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <mutex>

#include "io/random_access_file.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"
#include "verify/verify.h"

namespace modelutils {

// verify --data on catalogs in memory.

namespace {

// A catalog of one file with consecutive tensors.
class Builder {
 public:
  Builder& tensor(std::string name, TensorType type, std::string data) {
    Tensor& tensor = catalog_.add(std::move(name), {data.size()});
    tensor.type = type;
    tensor.offset = bytes_.size();
    tensor.bytes = data.size();
    bytes_ += data;
    return *this;
  }
  Catalog build() const {
    const auto bytes = std::as_bytes(std::span(bytes_));
    Catalog catalog = catalog_;
    catalog.files.push_back(
        {"m", "m", std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()))});
    return catalog;
  }

 private:
  std::string bytes_;
  Catalog catalog_;
};

template <typename T>
std::string values(std::size_t count, std::initializer_list<std::pair<std::size_t, T>> special) {
  std::vector<T> all(count, T{1});
  for (const auto& [index, value] : special) all[index] = value;
  return std::string(reinterpret_cast<const char*>(all.data()), count * sizeof(T));
}

FindingLog check(const Catalog& catalog, unsigned threads = 2) {
  FindingLog log;
  check_data(catalog, {}, threads, log);
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
  // Slightly more than 1 MiB: several pieces on two threads, the last one short.
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

TEST(DataCheck, PlainTypesOfABigEndianFileAreChecked) {
  const std::string zeros(6, '\0');
  Catalog catalog = Builder()
                        .tensor("f32", TensorType::F32, std::string("\x3f\x80\0\0\x7f\xc0\0\0", 8))
                        .tensor("f16", TensorType::F16, std::string("\x7c\0\0\x7c", 4))
                        .tensor("bf16", TensorType::BF16, std::string("\x80\x7f\x7f\x80", 4))
                        .tensor("f64", TensorType::F64, "\x7f\xf0" + zeros)
                        .tensor("i32", TensorType::I32, std::string(8, '\xff'))
                        .build();
  catalog.big_endian = true;
  const Findings findings = check(catalog).findings();
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[0].message, "element 1 of 2 is NaN (F32); 1 bad value in this tensor");
  EXPECT_EQ(findings[0].offset, 4u);
  EXPECT_EQ(findings[1].message, "element 0 of 2 is Inf (F16); 1 bad value in this tensor");
  EXPECT_EQ(findings[2].message, "element 1 of 2 is Inf (BF16); 1 bad value in this tensor");
  EXPECT_EQ(findings[3].code, "data-inf");
}

TEST(DataCheck, BlocksOfABigEndianFileAreAWarning) {
  Catalog catalog = Builder()
                        .tensor("a", TensorType::Q4_0, std::string(18, '\xff'))
                        .tensor("b", TensorType::Q8_0, std::string(34, '\xff'))
                        .build();
  catalog.big_endian = true;
  const FindingLog log = check(catalog);
  EXPECT_EQ(log.errors(), 0u);
  EXPECT_EQ(log.warnings(), 1u);
  ASSERT_EQ(log.findings().size(), 1u);
  EXPECT_EQ(log.findings()[0].code, "data-big-endian");
  EXPECT_EQ(log.findings()[0].message, "2 tensors in big-endian blocks: the values were not checked");
}

// A matrix of four 4-bit groups of 32; all codes are 15, except in group 3, where they are 0.
class Packed {
 public:
  Packed(mlx::Params params, TensorType type, std::string scales, std::string biases = {}) {
    weight_ = {params, 0, 1, biases.empty() ? mlx::no_tensor : 2};
    builder_.tensor("w", TensorType::U32,
                    std::string(48, params.mode == mlx::Mode::affine ? '\xff' : '\x77') + std::string(16, '\0'));
    builder_.tensor("w.scales", type, std::move(scales));
    if (!biases.empty()) builder_.tensor("w.biases", type, std::move(biases));
  }
  Findings check() const {
    FindingLog log;
    check_data(builder_.build(), std::span(&weight_, 1), 1, log);
    return log.findings();
  }

 private:
  PackedWeight weight_;
  Builder builder_;
};

constexpr mlx::Params affine{mlx::Mode::affine, 4, 32};
constexpr mlx::Params mxfp4{mlx::Mode::mxfp4, 4, 32};

TEST(DataCheck, FiniteScalesWhoseValuesOverflowAreFound) {
  const std::string ones = values<float>(4, {});
  EXPECT_TRUE(Packed(affine, TensorType::F32, ones, ones).check().empty());
  // 2^124 × 15 is below 2^128, 2^125 × 15 is not; group 3 has only codes of 0.
  EXPECT_TRUE(Packed(affine, TensorType::F32, values<float>(4, {{1, 0x1p124f}, {3, 0x1p127f}}), ones).check().empty());
  const Findings scale =
      Packed(affine, TensorType::F32, values<float>(4, {{1, 0x1p125f}, {2, -0x1p127f}}), ones).check();
  ASSERT_EQ(scale.size(), 1u);
  EXPECT_EQ(scale[0].code, "data-overflow");
  EXPECT_EQ(scale[0].severity, Severity::error);
  EXPECT_EQ(scale[0].where, "tensor 'w.scales'");
  EXPECT_EQ(scale[0].offset, 64u + 4u);
  EXPECT_EQ(scale[0].message,
            "element 1 of 4 makes values of its group overflow to Inf (F32); 2 bad values in this tensor");
  // E8M0: 254 is 2^127, and the largest element is 6.
  const Findings mx = Packed(mxfp4, TensorType::F8_E8M0, "\x7f\x7f\xfe\xfe").check();
  ASSERT_EQ(mx.size(), 1u);
  EXPECT_EQ(mx[0].code, "data-overflow");
  EXPECT_EQ(mx[0].offset, 66u);
}

TEST(DataCheck, ASumThatOverflowsIsTheBiassUnlessTheScaleIsLarge) {
  const std::string large_bias = values<float>(4, {{1, 3.0e38f}, {3, 3.0e38f}});
  EXPECT_TRUE(Packed(affine, TensorType::F32, values<float>(4, {}), large_bias).check().empty());
  const Findings bias =
      Packed(affine, TensorType::F32, values<float>(4, {{1, 0x1p117f}}), values<float>(4, {{1, 0x1.fffffep127f}}))
          .check();
  ASSERT_EQ(bias.size(), 1u);
  EXPECT_EQ(bias[0].where, "tensor 'w.biases'");
  const Findings both = Packed(affine, TensorType::F32, values<float>(4, {{1, 0x1p124f}}), large_bias).check();
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].where, "tensor 'w.scales'");
}

TEST(DataCheck, WhatIsNotFiniteItselfIsNoOverflow) {
  const std::string ones = values<float>(4, {});
  const Findings scale = Packed(affine, TensorType::F32, values<float>(4, {{1, infinity}}), ones).check();
  ASSERT_EQ(scale.size(), 1u);
  EXPECT_EQ(scale[0].code, "data-inf");
  const Findings bias =
      Packed(affine, TensorType::F32, values<float>(4, {{1, 0x1p127f}}), values<float>(4, {{1, nan_value}})).check();
  ASSERT_EQ(bias.size(), 1u);
  EXPECT_EQ(bias[0].where, "tensor 'w.biases'");
  EXPECT_EQ(bias[0].code, "data-nan");
}

// A file that ends before its stated size.
class ShrunkFile : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  Result<std::size_t> read_some(u64 offset, MutableBytes) const override {
    return input_error("io-shrunk", "the file became shorter while it was being read", {}, offset, "m");
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
  check_data(catalog, {}, 2, log, &progress);
  EXPECT_EQ(progress.done(), 800000u);
}

// Signals when it is read.
class ReportingFile : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    std::call_once(once_, [&] { read_.set_value(); });
    return MemoryFile::read_some(offset, out);
  }
  std::future<void> is_read() const { return read_.get_future(); }

 private:
  mutable std::once_flag once_;
  mutable std::promise<void> read_;
};

TEST(DataCheck, OtherWorkIsDoneWhileTheDataIsRead) {
  Catalog catalog = Builder().tensor("a", TensorType::F32, values<float>(100000, {{3, nan_value}})).build();
  std::vector<std::byte> bytes(catalog.tensors[0].bytes);
  ASSERT_TRUE(catalog.files[0].source->read_exact(0, bytes).has_value());
  const auto file = std::make_shared<ReportingFile>(std::move(bytes));
  catalog.files[0].source = file;
  auto is_read = file->is_read();
  auto waited = std::future_status::deferred;
  FindingLog log;
  check_data(catalog, {}, 2, log, nullptr, [&] { waited = is_read.wait_for(std::chrono::minutes(1)); });
  EXPECT_EQ(waited, std::future_status::ready);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].code, "data-nan");
}

TEST(DataCheck, OneThreadDoesOtherWorkOnceAndBeforeItReads) {
  Progress progress;
  std::vector<u64> done;
  FindingLog log;
  for (const Catalog& catalog :
       {Builder().build(), Builder().tensor("a", TensorType::F32, values<float>(4, {{3, nan_value}})).build()}) {
    check_data(catalog, {}, 1, log, &progress, [&] { done.push_back(progress.done()); });
  }
  EXPECT_EQ(done, (std::vector<u64>{0, 0}));
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].code, "data-nan");
  EXPECT_EQ(progress.done(), 16u);
}

}  // namespace

}  // namespace modelutils
