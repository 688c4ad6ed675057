#include "formats/imatrix/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "io/random_access_file.h"

namespace modelutils::quantize {
namespace {

// Builds a .dat file, field by field.
class Legacy {
 public:
  Legacy& number(i32 value) { return raw(&value, sizeof value); }
  Legacy& text(std::string_view value) { return raw(value.data(), value.size()); }
  Legacy& entry(std::string_view name, i32 calls, const std::vector<float>& sums) {
    number(static_cast<i32>(name.size())).text(name).number(calls).number(static_cast<i32>(sums.size()));
    return raw(sums.data(), sums.size() * sizeof(float));
  }
  Legacy& raw(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
    return *this;
  }
  void cut(std::size_t bytes) { bytes_.resize(bytes_.size() - bytes); }

  Result<std::shared_ptr<const ImportanceMatrix>> read() const {
    return ImportanceMatrix::read(std::make_shared<MemoryFile>(bytes_, "m.dat"), "m.dat");
  }
  void refused(std::string_view code, std::string_view words) const {
    const auto matrix = read();
    ASSERT_FALSE(matrix) << words;
    EXPECT_EQ(matrix.error().code, code);
    EXPECT_NE(matrix.error().message.find(words), std::string::npos) << matrix.error().message;
    EXPECT_EQ(matrix.error().file, "m.dat");
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(LegacyImportance, EntriesCallsChunksAndDataset) {
  Legacy file;
  file.number(2).entry("blk.0.attn_q.weight", 4, {2, 4, 8, 16}).entry("output.weight", 1, {3});
  file.number(7).number(5).text("a.txt");
  const auto matrix = file.read();
  ASSERT_TRUE(matrix);
  EXPECT_TRUE((*matrix)->is_legacy());
  EXPECT_EQ((*matrix)->chunks(), 7u);
  EXPECT_EQ((*matrix)->datasets(), std::vector<std::string>{"a.txt"});
  ASSERT_EQ((*matrix)->entries().size(), 2u);
  const ImportanceEntry* entry = (*matrix)->find("blk.0.attn_q.weight");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->values, 4u);
  EXPECT_EQ(entry->counts, std::vector<i64>{4});
  EXPECT_EQ(*(*matrix)->sums(*entry), (std::vector<float>{2, 4, 8, 16}));
  EXPECT_EQ(*(*matrix)->weights(*entry), (std::vector<float>{0.5, 1, 2, 4}));
  EXPECT_EQ((*matrix)->find("blk.0.attn_k.weight"), nullptr);
}

// The values of an entry without calls are used unchanged, as other programs do.
TEST(LegacyImportance, WithoutCallsAndWithoutAnEnd) {
  const auto matrix = Legacy().number(1).entry("a", 0, {2, 4}).read();
  ASSERT_TRUE(matrix);
  EXPECT_EQ((*matrix)->chunks(), 0u);
  EXPECT_TRUE((*matrix)->datasets().empty());
  EXPECT_EQ(*(*matrix)->weights((*matrix)->entries().front()), (std::vector<float>{2, 4}));
  // A dataset name that is cut off is ignored.
  const auto cut = Legacy().number(1).entry("a", 1, {2}).number(3).number(100).text("a.t").read();
  ASSERT_TRUE(cut);
  EXPECT_EQ((*cut)->chunks(), 3u);
  EXPECT_TRUE((*cut)->datasets().empty());
}

TEST(LegacyImportance, RefusesWhatItCannotHold) {
  constexpr i32 most = std::numeric_limits<i32>::max();
  Legacy().refused("imatrix-format", "the number of entries it states");
  Legacy().number(0).entry("a", 1, {1}).refused("imatrix-format", "the number of entries it states");
  Legacy().number(-1).entry("a", 1, {1}).refused("imatrix-format", "the number of entries it states");
  Legacy().number(most).entry("a", 1, {1}).refused("imatrix-format", "the number of entries it states");
  Legacy().number(1).number(0).text("aaaaaaaaaaaa").refused("imatrix-format", "entry 1: no name");
  Legacy().number(1).number(-5).text("aaaaaaaaaaaa").refused("imatrix-format", "entry 1: no name");
  Legacy().number(1).number(most).text("aaaaaaaaaaaa").refused("imatrix-format", "entry 1");
  Legacy().number(1).number(1).text("a").number(1).number(0).number(0).refused("imatrix-format", "entry 1: no values");
  Legacy().number(1).number(1).text("a").number(1).number(-1).number(0).refused("imatrix-format", "entry 1: no values");
  Legacy().number(1).number(1).text("a").number(1).number(most).number(0).refused("imatrix-format",
                                                                                  "within its values");
  Legacy file;
  file.number(2).entry("a", 1, {1, 2}).entry("b", 1, {1, 2});
  file.cut(1);
  file.refused("imatrix-format", "entry 2: the file ends within its values");
  Legacy().number(2).entry("a", 1, {1}).entry("a", 1, {2}).refused("imatrix-entry", "twice");
}

TEST(LegacyImportance, WeightsAreNumbers) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const auto matrix = Legacy().number(1).entry("a", 1, {1, bad}).read();
    ASSERT_TRUE(matrix);
    const auto weights = (*matrix)->weights((*matrix)->entries().front());
    ASSERT_FALSE(weights);
    EXPECT_EQ(weights.error().code, "imatrix-not-finite");
  }
}

// A negative weight would push values away from their originals.
TEST(LegacyImportance, WeightsAreNotNegative) {
  const auto matrix = Legacy().number(2).entry("a", 1, {0, -0.0F, 1}).entry("b", 3, {1, -1e-30F}).read();
  ASSERT_TRUE(matrix);
  EXPECT_EQ((*matrix)->weights((*matrix)->entries()[0]), (std::vector<float>{0, 0, 1}));
  for (const auto& values : {(*matrix)->weights((*matrix)->entries()[1]), (*matrix)->sums((*matrix)->entries()[1])}) {
    ASSERT_FALSE(values);
    EXPECT_EQ(values.error().code, "imatrix-negative");
  }
}

TEST(LegacyImportance, IsRecognisedByItsBeginning) {
  const auto looks = [](i32 count, i32 length, std::string_view name) {
    std::string head(8, '\0');
    std::memcpy(head.data(), &count, 4);
    std::memcpy(head.data() + 4, &length, 4);
    return is_legacy_importance(head.append(name).append(16, '\0'));
  };
  EXPECT_TRUE(looks(2, 13, "output.weight"));
  EXPECT_FALSE(looks(2, 12, "output.weight")) << "another name";
  EXPECT_FALSE(looks(0, 13, "output.weight"));
  EXPECT_FALSE(looks(2, 0, "output.weight"));
  EXPECT_FALSE(looks(2, -1, "output.weight"));
  EXPECT_FALSE(is_legacy_importance("GGUF"));
}

}  // namespace
}  // namespace modelutils::quantize
