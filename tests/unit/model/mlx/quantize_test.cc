#include "model/mlx/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "formats/gguf/split_set.h"
#include "json/reader.h"
#include "model/catalog.h"
#include "model/mlx/quantization.h"
#include "support/temp_dir.h"

namespace modelutils::mlx {
namespace {

std::vector<float> normal_values(std::size_t count, u32 seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.02f);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(QuantizeAffine, MakesTheEdgeOfTheLargerMagnitudeAMultipleOfTheScale) {
  // The range −1 … 3 in 3 steps gives the scale −4/3; the edge 3 is −2.25 steps, so it becomes −2 steps of −1.5.
  const std::vector<float> values = {-1, 0, 1.4f, 3};
  std::array<u8, 4> codes{};
  const ScaleAndBias lattice = quantize_affine(2, values, TensorType::F32, codes);
  EXPECT_EQ(lattice.scale, -1.5f);
  EXPECT_EQ(lattice.bias, 3.0f);
  EXPECT_EQ(codes, (std::array<u8, 4>{3, 2, 1, 0}));
  // Mirrored, the scale is positive.
  const std::vector<float> mirrored = {1, 0, -1.4f, -3};
  const ScaleAndBias other = quantize_affine(2, mirrored, TensorType::F32, codes);
  EXPECT_EQ(other.scale, 1.5f);
  EXPECT_EQ(other.bias, -3.0f);
  EXPECT_EQ(codes, (std::array<u8, 4>{3, 2, 1, 0}));
}

TEST(QuantizeAffine, GroupsOfZerosHaveMlxsLeastScale) {
  const std::vector<float> zeros(32, 0.0f);
  std::array<u8, 32> codes{};
  const ScaleAndBias lattice = quantize_affine(4, zeros, TensorType::F32, codes);
  EXPECT_EQ(lattice.scale, -1e-7f);
  EXPECT_EQ(lattice.bias, 0.0f);
  EXPECT_EQ(codes, (std::array<u8, 32>{}));
}

TEST(QuantizeAffine, RoundsWhatIsStored) {
  const std::vector<float> values = {0.1f, 0.30000001f, 0.7f, 1.1f};
  std::array<u8, 4> codes{};
  const ScaleAndBias half = quantize_affine(8, values, TensorType::F16, codes);
  EXPECT_EQ(half.bias, rounded_to(TensorType::F16, 1.1f));
  EXPECT_NE(half.bias, 1.1f);
  EXPECT_EQ(rounded_to(TensorType::BF16, 1.1f), 1.1015625f);
}

TEST(QuantizeFp, PicksTheNearestElementAndEvenCodesInTheMiddle) {
  // 6 is the largest element, so the scale is one.
  std::vector<float> values = {6, -6, 5, 2.5f, 0.25f, 0.75f, -0.0f, 1.75f};
  values.resize(32, 0.0f);
  std::array<u8, 32> codes{};
  EXPECT_EQ(quantize_fp(Mode::mxfp4, values, codes), 127);
  // 5 is between 4 (code 6) and 6 (7), 2.5 between 2 (4) and 3 (5), 0.25 between 0 and 0.5, 0.75 between 0.5 and 1,
  // 1.75 between 1.5 (3) and 2 (4).
  const std::array<u8, 8> wanted = {7, 15, 6, 4, 0, 2, 8, 4};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(codes[i], wanted[i]) << i;
  EXPECT_EQ(quantize_fp(Mode::mxfp4, std::vector<float>(32, 0.0f), codes), 127) << "zeros have the scale one";
  EXPECT_EQ(quantize_fp(Mode::mxfp4, std::vector<float>(32, 12.0f), codes), 128);
  EXPECT_EQ(codes[0], 7);
}

// Values that a mode can represent are unchanged.
TEST(QuantizeFp, KeepsWhatTheModeHolds) {
  std::mt19937 random(3);
  for (const Mode mode : {Mode::mxfp4, Mode::nvfp4, Mode::mxfp8}) {
    const Params params = default_params(mode);
    const u8 greatest = params.bits == 8 ? 0x7E : 7;
    for (int round = 0; round < 200; ++round) {
      std::vector<u8> codes(params.group_size);
      for (u8& code : codes) code = static_cast<u8>(random() % (greatest + 1u));
      codes.front() = greatest;
      const u8 scale = static_cast<u8>(100 + random() % 20);
      const float factor = mode == Mode::nvfp4 ? e4m3_to_f32(scale) : e8m0_to_f32(scale);
      static constexpr std::array<float, 8> fp4 = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
      std::vector<float> values(params.group_size);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = factor * (params.bits == 8 ? e4m3_to_f32(codes[i]) : fp4[codes[i]]);
      }
      std::vector<u8> found(params.group_size);
      EXPECT_EQ(quantize_fp(mode, values, found), scale) << mode_name(mode);
      EXPECT_EQ(found, codes) << mode_name(mode);
    }
  }
}

double relative_rms(std::span<const float> wanted, std::span<const float> found) {
  double error = 0;
  double sum = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    error += std::pow(static_cast<double>(found[i]) - static_cast<double>(wanted[i]), 2);
    sum += std::pow(static_cast<double>(wanted[i]), 2);
  }
  return std::sqrt(error / sum);
}

// 8 bits in groups of 32, with a searched or MLX's own lattice.
std::vector<float> carried(std::span<const float> values, bool is_searched) {
  std::vector<u8> codes(values.size());
  std::vector<ScaleAndBias> lattices(values.size() / 32);
  if (is_searched) search_two_scales(values, TensorType::F32, lattices, codes);
  std::vector<float> found(values.size());
  for (std::size_t g = 0; g < lattices.size(); ++g) {
    const std::span<u8> some = std::span(codes).subspan(32 * g, 32);
    if (!is_searched) lattices[g] = quantize_affine(8, values.subspan(32 * g, 32), TensorType::F32, some);
    for (std::size_t k = 0; k < 32; ++k) {
      found[32 * g + k] = lattices[g].scale * static_cast<float>(some[k]) + lattices[g].bias;
    }
  }
  return found;
}

// The algorithm of search_two_scales() for a single group, value by value.
class SlowSearch {
 public:
  SlowSearch(std::span<const float> values, TensorType type) : type_(type) {
    for (const float value : values) ++counts_[value];
    best_ = stored((high() - low()) / 255, low());
    if (!(best_.scale > 0)) return;
    least_ = error(best_);
    for (const std::size_t first : {0u, 16u}) {
      const std::set<float> half(values.begin() + static_cast<std::ptrdiff_t>(first),
                                 values.begin() + static_cast<std::ptrdiff_t>(first + 16));
      float distance = HUGE_VALF;
      for (auto at = half.begin(); std::next(at) != half.end(); ++at) {
        distance = std::min(distance, *std::next(at) - *at);
      }
      if (half.size() > 1) try_parts(*half.begin(), distance);
    }
  }

  ScaleAndBias best() const { return best_; }
  u8 code(float value) const {
    if (!(best_.scale > 0)) return 0;
    return static_cast<u8>(std::clamp(std::nearbyint((value - best_.bias) / best_.scale), 0.0f, 255.0f));
  }

 private:
  float low() const { return counts_.begin()->first; }
  float high() const { return counts_.rbegin()->first; }
  ScaleAndBias stored(float scale, float bias) const { return {rounded_to(type_, scale), rounded_to(type_, bias)}; }

  float error(const ScaleAndBias& lattice) const {
    float sum = 0;
    const float inverse = 1 / lattice.scale;
    for (const auto& [value, count] : counts_) {
      const float code = std::nearbyint(std::clamp((value - lattice.bias) * inverse, 0.0f, 255.0f));
      const float difference = code * lattice.scale + lattice.bias - value;
      sum += count * (difference * difference);
    }
    return sum;
  }

  void try_parts(float lowest, float distance) {
    for (int parts = 1; parts <= 89; ++parts) {
      const float step = distance / static_cast<float>(parts);
      const float below = std::ceil((lowest - low()) / step);
      if ((high() - lowest) / step + below > 255.5f) return;
      const ScaleAndBias lattice = stored(step, lowest - below * step);
      if (!(lattice.scale > 0)) return;
      if (const float found = error(lattice); found < least_) {
        least_ = found;
        best_ = lattice;
      }
    }
  }

  const TensorType type_;
  std::map<float, float> counts_;
  ScaleAndBias best_;
  float least_ = 0;
};

// Halves with separate scales, as in Q6_K: similar and dissimilar ones, few distinct values, zeros of both signs.
std::vector<float> two_scaled_values(std::size_t groups) {
  std::mt19937 random(11);
  std::vector<float> values;
  for (std::size_t half = 0; half < 2 * groups; ++half) {
    const float scale = std::ldexp(static_cast<float>(static_cast<int>(random() % 255) - 127), -14);
    const u32 kind = random() % 5;
    for (int i = 0; i < 16; ++i) {
      const int code = kind == 0 ? static_cast<int>(random() % 3) * 20 : static_cast<int>(random() % 64);
      values.push_back(kind == 1 ? scale * 0.0f : scale * static_cast<float>(code - 32));
    }
  }
  return values;
}

void expect_what_a_slow_search_finds(Instructions instructions) {
  const std::vector<float> values = two_scaled_values(403);
  for (const TensorType type : {TensorType::F16, TensorType::BF16, TensorType::F32}) {
    for (const std::size_t groups : {1u, 2u, 3u, 403u}) {
      const std::span<const float> some = std::span(values).first(32 * groups);
      std::vector<u8> codes(some.size());
      std::vector<ScaleAndBias> lattices(groups);
      search_two_scales(some, type, lattices, codes, instructions);
      for (std::size_t g = 0; g < groups; ++g) {
        const std::span<const float> group = some.subspan(32 * g, 32);
        const SlowSearch slow(group, type);
        ASSERT_EQ(lattices[g].scale, slow.best().scale) << type_name(type) << " " << g;
        ASSERT_EQ(lattices[g].bias, slow.best().bias) << type_name(type) << " " << g;
        ASSERT_FALSE(std::signbit(lattices[g].bias) && lattices[g].bias == 0) << g;
        for (std::size_t i = 0; i < 32; ++i) ASSERT_EQ(codes[32 * g + i], slow.code(group[i])) << g << " " << i;
      }
    }
  }
}

TEST(SearchTwoScales, FindsForManyGroupsWhatASlowSearchFindsForEach) {
  expect_what_a_slow_search_finds(Instructions::any_machine);
  expect_what_a_slow_search_finds(best_instructions());
}

TEST(SearchTwoScales, FindsALatticeOfBothHalvesWhereThereIsOne) {
  std::vector<float> values;
  for (int i = 0; i < 16; ++i) values.push_back(0.25f * static_cast<float>(i % 8) - 1.0f);
  for (int i = 0; i < 16; ++i) values.push_back(0.375f * static_cast<float>(i % 5) - 0.5f);  // 1/8 divides both
  const std::vector<float> found = carried(values, true);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(found[i], values[i]) << i;
}

TEST(SearchTwoScales, EqualValuesAreTheBias) {
  const std::vector<float> values(32, -0.3f);
  EXPECT_EQ(carried(values, true), values);
}

TEST(SearchTwoScales, IsNeverWorseThanThePlainRange) {
  const std::vector<float> values = normal_values(32 * 200, 5);
  EXPECT_LE(relative_rms(values, carried(values, true)), relative_rms(values, carried(values, false)) * 1.001);
}

// Computed by hand: from 0 to 255 the codes are integers, and these values are off by a quarter.
TEST(PlainLatticeError, IsThatOfTheWholeRange) {
  std::vector<float> values(2 * search_group, 7.0f);  // the second group has a single value, its bias
  for (std::size_t i = 0; i < search_group; ++i) values[i] = i % 2 == 0 ? 0.25f : 10.75f;
  values[3] = 255;
  values[20] = 0;
  EXPECT_EQ(plain_lattice_error(values, TensorType::F16), 30 * 0.0625);
  EXPECT_EQ(plain_lattice_error(values, TensorType::F32), 30 * 0.0625);
  values[40] = -1e6f;  // a bias beyond F16
  EXPECT_FALSE(std::isfinite(plain_lattice_error(values, TensorType::F16)));
  EXPECT_TRUE(std::isfinite(plain_lattice_error(values, TensorType::F32)));
  values[40] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(plain_lattice_error(values, TensorType::F32)));
}

TEST(Quantize, HasTheErrorsOfTheCorpus) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  const std::string folder = test::shared_dir() + "/corpus/gguf2mlx/";
  const auto index = json::load(folder + "index.json");
  ASSERT_TRUE(index) << index.error().message;
  for (const std::string name : {"q2_K", "q6_K", "iq2_xs", "iq2_s"}) {
    const json::Element entry = *json::member((*index)->root, name);
    const auto set = gguf::open_set(folder + std::string(*json::string_member(entry, "file")));
    ASSERT_TRUE(set) << name;
    const Catalog catalog = catalog_of(*set);
    std::vector<float> values(6 * 512);
    ASSERT_TRUE(catalog.values_of(catalog.tensors.front()).read_values(0, values));
    const double searched = *json::number_member(entry, "rel_rms_searched_fit");
    EXPECT_LE(relative_rms(values, carried(values, true)), searched * 1.01) << name;
    const double usual = *json::number_member(entry, "rel_rms_mx_quantize");
    EXPECT_NEAR(relative_rms(values, carried(values, false)), usual, usual * 0.02) << name;
  }
}

}  // namespace
}  // namespace modelutils::mlx
