#include "base/not_found.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

const EachName two_names = [](const auto& name) {
  name("general.name");
  name("llama.block_count");
};

TEST(NotFound, HintsAtTheNameOrAtTheList) {
  EXPECT_EQ(name_hint("key", "general.nam", two_names), " (did you mean 'general.name'?)");
  EXPECT_EQ(name_hint("key", "split.count", two_names), "; --list keys lists them");
}

TEST(NotFound, EveryGlobMustSelectSomething) {
  const auto unused = [](const std::vector<std::string>& globs) {
    GlobUse use("--keys", "key", globs);
    use.look_at(two_names);
    return use.unused("m.gguf");
  };
  EXPECT_TRUE(unused({}).empty());
  EXPECT_TRUE(unused({"*", "llama.*"}).empty());
  const auto errors = unused({"lama.*", "general.*", "qwen*"});
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].kind, ErrorKind::no_match);
  EXPECT_EQ(errors[0].code, "glob-no-match");
  EXPECT_EQ(errors[0].file, "m.gguf");
  EXPECT_EQ(errors[0].where, "--keys 'lama.*'");
  EXPECT_EQ(errors[0].message, "matches no key (did you mean 'llama.block_count'?)");
  EXPECT_EQ(errors[1].message, "matches no key; --list keys lists them");
}

TEST(NotFound, OneOfSeveralModelsIsEnough) {
  GlobUse use("--drop", "tensor", {"general.*", "split.*", "qwen*"});
  use.look_at([](const auto& name) { name("split.count"); });
  use.look_at(two_names);
  const auto errors = use.unused({}, "gguf-dump");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "glob-no-match");
  EXPECT_EQ(errors[0].where, "--drop 'qwen*'");
  EXPECT_EQ(errors[0].message, "matches no tensor; gguf-dump --list tensors lists them");
}

}  // namespace
}  // namespace modelutils
