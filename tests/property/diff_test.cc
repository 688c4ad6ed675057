// Properties of every comparison: a model equals itself, byte for byte and in every form, and swapping the sides
// changes only signs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "compare/compare.h"
#include "support/opened_model.h"
#include "support/temp_dir.h"
#include "verify/verify.h"

namespace modelutils {
namespace {

namespace fs = std::filesystem;

// Returns all valid models in the reference data and in the project.
std::vector<std::string> sound_models() {
  std::vector<std::string> paths = {test::data_dir() + "/demo-model", test::data_dir() + "/bump/tiny.gguf",
                                    test::data_dir() + "/bump/tiny-split-00001-of-00002.gguf",
                                    test::data_dir() + "/gguf/big-endian.gguf",
                                    test::data_dir() + "/gguf/odd-types.gguf"};
  for (const char* folder : {"bump", "gguf-real", "gguf2mlx"}) {
    if (!fs::exists(fs::path(test::shared_dir() + "/corpus") / folder)) continue;
    for (const auto& entry : fs::directory_iterator(fs::path(test::shared_dir() + "/corpus") / folder)) {
      if (entry.path().extension() == ".gguf") paths.push_back(entry.path().string());
    }
  }
  for (const char* folder : {"mlx", "zoo"}) {
    if (!fs::exists(fs::path(test::shared_dir() + "/corpus") / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(test::shared_dir() + "/corpus") / folder)) {
      if (entry.path().filename() == "config.json") paths.push_back(entry.path().parent_path().string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

std::unique_ptr<ModelDiff> compare(const std::string& a, const std::string& b) {
  CompareOptions options;
  options.data = true;
  options.layout = true;
  auto left = test::opened(a), right = test::opened(b);
  if (!left || !right) return nullptr;
  auto diff = compare_models(std::move(*left), std::move(*right), options);
  EXPECT_TRUE(diff) << a << ": " << diff.error().message;
  return diff ? std::move(*diff) : nullptr;
}

bool is_sound(const std::string& path) {
  bool sound = false;
  const Status done = verify_paths({path}, {}, [&](const VerifyReport& report) { sound = report.errors == 0; });
  return done && sound;
}

TEST(DiffProperty, EveryModelEqualsItself) {
  u64 compared = 0;
  for (const std::string& path : sound_models()) {
    if (!is_sound(path)) continue;
    const auto diff = compare(path, path);
    if (diff == nullptr) continue;
    EXPECT_TRUE(diff->is_silent()) << path;
    EXPECT_EQ(diff->read_error(), nullptr) << path;
    for (std::size_t i = 0; i < diff->measured.size(); ++i) {
      const Measurement& one = diff->measured[i];
      EXPECT_TRUE(one.equal_bytes || !one.problem.empty()) << path;
      EXPECT_TRUE(one.problem.empty()) << path << ": " << one.problem;
    }
    ++compared;
  }
  EXPECT_GE(compared, 1u);
}

std::vector<std::string> names_of(const std::vector<const Tensor*>& tensors) {
  std::vector<std::string> names;
  for (const Tensor* tensor : tensors) names.emplace_back(tensor->name);
  return names;
}
std::vector<std::string> names_of(const std::vector<const ListedKey*>& keys) {
  std::vector<std::string> names;
  for (const ListedKey* key : keys) names.emplace_back(key->name);
  return names;
}

// Compares neighbours in the list of models, of the same or different families and formats.
TEST(DiffProperty, TheOtherWayRoundOnlySignsChange) {
  const std::vector<std::string> models = sound_models();
  for (std::size_t i = 0; i + 1 < models.size(); ++i) {
    SCOPED_TRACE(models[i] + " and " + models[i + 1]);
    const auto there = compare(models[i], models[i + 1]);
    const auto back = compare(models[i + 1], models[i]);
    if (there == nullptr || back == nullptr) continue;
    EXPECT_EQ(there->equal(), back->equal());
    EXPECT_EQ(there->identity.size(), back->identity.size());
    EXPECT_EQ(names_of(there->keys.added), names_of(back->keys.removed));
    EXPECT_EQ(names_of(there->keys.removed), names_of(back->keys.added));
    EXPECT_EQ(there->keys.changed.size(), back->keys.changed.size());
    EXPECT_EQ(names_of(there->tokenizer.added), names_of(back->tokenizer.removed));
    EXPECT_EQ(names_of(there->tensors.added), names_of(back->tensors.removed));
    EXPECT_EQ(names_of(there->tensors.removed), names_of(back->tensors.added));
    EXPECT_EQ(there->tensors.reshaped.size(), back->tensors.reshaped.size());
    EXPECT_EQ(there->tensors.retyped, back->tensors.retyped);
    std::map<std::string_view, const Measurement*> other;
    for (const TensorChange& change : back->changed_values()) other[change.pair.a->name] = change.measured;
    const std::vector<TensorChange> changes = there->changed_values();
    EXPECT_EQ(changes.size(), other.size());
    for (const TensorChange& change : changes) {
      const auto found = other.find(change.pair.a->name);
      ASSERT_NE(found, other.end()) << change.pair.a->name;
      EXPECT_EQ(change.measured->sums.different, found->second->sums.different);
      EXPECT_EQ(change.measured->sums.max_abs, found->second->sums.max_abs);
      EXPECT_NEAR(change.measured->sums.cosine(), found->second->sums.cosine(), 1e-9);
    }
  }
}

}  // namespace
}  // namespace modelutils
