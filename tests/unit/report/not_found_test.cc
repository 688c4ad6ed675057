#include "report/not_found.h"

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
  EXPECT_TRUE(unmatched_globs("--keys", "key", {}, two_names, "m.gguf").empty());
  EXPECT_TRUE(unmatched_globs("--keys", "key", {"*", "llama.*"}, two_names, "m.gguf").empty());
  const auto errors = unmatched_globs("--keys", "key", {"lama.*", "general.*", "qwen*"}, two_names, "m.gguf");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].kind, ErrorKind::no_match);
  EXPECT_EQ(errors[0].code, "glob-no-match");
  EXPECT_EQ(errors[0].file, "m.gguf");
  EXPECT_EQ(errors[0].where, "--keys 'lama.*'");
  EXPECT_EQ(errors[0].message, "matches no key (did you mean 'llama.block_count'?)");
  EXPECT_EQ(errors[1].message, "matches no key; --list keys lists them");
}

}  // namespace
}  // namespace modelutils
