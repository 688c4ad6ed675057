#include "base/closest_name.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace modelutils
