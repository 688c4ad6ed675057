#include "base/not_found.h"

#include <gtest/gtest.h>

#include <string>

namespace modelutils {

namespace {

std::string closest(std::string_view given, std::initializer_list<std::string_view> names,
                    ClosestName::Reading reading = ClosestName::Reading::plain) {
  ClosestName found(given, reading);
  for (const std::string_view name : names) found.offer(name);
  return found.name();
}

std::string closest_to_glob(std::string_view given, std::initializer_list<std::string_view> names) {
  return closest(given, names, ClosestName::Reading::glob);
}

TEST(ClosestName, FindsOneOrTwoTypingErrors) {
  EXPECT_EQ(closest("general.nmae", {"general.type", "general.name"}), "general.name");
  EXPECT_EQ(closest("--jsn", {"--csv", "--json", "--jsonl"}), "--json");
  EXPECT_EQ(closest("blk.0.attn_x.weight", {"blk.0.attn_output.weight", "blk.0.attn_q.weight"}), "blk.0.attn_q.weight");
  EXPECT_EQ(closest("kitten", {"sitting"}), "");  // the textbook example, with edit distance three
  EXPECT_EQ(closest("kitten", {"sittin"}), "sittin");
}

TEST(ClosestName, IsNotFooledByShortNames) {
  EXPECT_EQ(closest("x", {"y", "z"}), "");
  EXPECT_EQ(closest("ab", {"ac"}), "");
  EXPECT_EQ(closest("abc", {"abd"}), "abd");
  EXPECT_EQ(closest("abc", {"ade"}), "");
  EXPECT_EQ(closest("", {"a"}), "");
}

TEST(ClosestName, FindsTheNameOfAPart) {
  EXPECT_EQ(closest("token_embd", {"output.weight", "token_embd.weight"}), "token_embd.weight");
  EXPECT_EQ(closest("context_length", {"general.name", "llama.context_length", "x.context_length"}),
            "llama.context_length");
  EXPECT_EQ(closest("length", {"llama.context_length"}), "");
  EXPECT_EQ(closest("output.weigth", {"blk.0.output.weigth.x", "output.weight"}), "output.weight");
}

TEST(ClosestName, OfAGlobComparesOnlyWhatIsSpelled) {
  EXPECT_EQ(closest_to_glob("lama.*", {"general.name", "llama.block_count"}), "llama.block_count");
  EXPECT_EQ(closest_to_glob("*attm*", {"output.weight", "blk.0.attn_q.weight"}), "blk.0.attn_q.weight");
  EXPECT_EQ(closest_to_glob("blk.?.atn_q.weight", {"blk.7.attn_q.weight"}), "blk.7.attn_q.weight");
  EXPECT_EQ(closest_to_glob("*zzzzz*", {"blk.0.attn_q.weight"}), "");
  EXPECT_EQ(closest_to_glob("*", {"a"}), "");
}

TEST(ClosestName, PassesOverWhatIsTooLong) {
  EXPECT_EQ(closest(std::string(65, 'a'), {std::string(65, 'b'), std::string(64, 'a')}), "");
  EXPECT_EQ(closest("abcde", {std::string("abcde.") + std::string(200, 'x')}), "");
}

TEST(ClosestName, SaysWhatWasMeant) {
  ClosestName found("general.nmae");
  EXPECT_EQ(found.hint("; look it up"), "; look it up");
  found.offer("general.name");
  EXPECT_EQ(found.hint("; look it up"), " (did you mean 'general.name'?)");
}

TEST(Glob, Patterns) {
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("*", "a.b/c"));
  EXPECT_TRUE(glob_match("blk.*.attn_q.weight", "blk.12.attn_q.weight"));
  EXPECT_FALSE(glob_match("blk.*.attn_q.weight", "blk.12.attn_k.weight"));
  EXPECT_TRUE(glob_match("blk.?.x", "blk.7.x"));
  EXPECT_FALSE(glob_match("blk.?.x", "blk.17.x"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_TRUE(glob_match("a*b*c", "aXXbYYbc"));
  EXPECT_FALSE(glob_match("a*b*c", "aXXbYY"));
  EXPECT_TRUE(glob_match("**", "x"));
  EXPECT_FALSE(glob_match("Key", "key"));
}

TEST(Glob, Classes) {
  EXPECT_TRUE(glob_match("[a-c]x", "bx"));
  EXPECT_FALSE(glob_match("[a-c]x", "dx"));
  EXPECT_TRUE(glob_match("[!a-c]x", "dx"));
  EXPECT_TRUE(glob_match("[^a-c]x", "dx"));
  EXPECT_FALSE(glob_match("[!a-c]x", "bx"));
  EXPECT_TRUE(glob_match("[]]", "]")) << "a bracket first stands for itself";
  EXPECT_TRUE(glob_match("[a-]", "-"));
  EXPECT_TRUE(glob_match("[0-9][0-9]", "42"));
  EXPECT_TRUE(glob_match("[abc", "[abc")) << "never closed";
  EXPECT_FALSE(glob_match("[a]", ""));
  EXPECT_TRUE(glob_match("[\xc0-\xff]", "\xe9"));
}

TEST(Glob, Escapes) {
  EXPECT_TRUE(glob_match("a\\*b", "a*b"));
  EXPECT_FALSE(glob_match("a\\*b", "axb"));
  EXPECT_TRUE(glob_match("\\?", "?"));
  EXPECT_TRUE(glob_match("end\\", "end\\"));
}

TEST(Glob, HostilePatternsEnd) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(20000, 'a')));  // backtracking would never finish
}

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

TEST(PatternSelects, PartsOfNamesAndWholeNames) {
  EXPECT_TRUE(pattern_selects("attn_q", "blk.0.attn_q.weight"));
  EXPECT_TRUE(pattern_selects("blk.0.attn_q.weight", "blk.0.attn_q.weight"));
  EXPECT_FALSE(pattern_selects("attn_v", "blk.0.attn_q.weight"));
  EXPECT_FALSE(pattern_selects("Attn_q", "blk.0.attn_q.weight"));
  EXPECT_FALSE(pattern_selects("attn_q*", "blk.0.attn_q.weight"));
  EXPECT_TRUE(pattern_selects("*attn_?.weight", "blk.0.attn_q.weight"));
  EXPECT_FALSE(pattern_selects("attn_[qk]", "blk.0.attn_q.weight"));
  EXPECT_FALSE(pattern_selects("", "blk.0.attn_q.weight"));
}

}  // namespace

}  // namespace modelutils
