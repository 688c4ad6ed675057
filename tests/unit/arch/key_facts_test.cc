#include "arch/key_facts.h"

#include <gtest/gtest.h>

#include <set>

#include "arch/families.h"
#include "arch/families/runtime_only.h"

namespace modelutils::arch {
namespace {

// The architectures of all tables.
std::set<std::string_view> architectures() {
  std::set<std::string_view> names;
  for (const Family* family : all_families()) names.insert(family->gguf);
  for (const RuntimeArchitecture& row : runtime_architectures()) {
    for_each_name(row.names, [&](std::string_view name) { names.insert(name); });
  }
  return names;
}

TEST(KeyFacts, EveryRowSaysItsTypesAndWhatIsDoneWithoutIt) {
  std::set<std::string_view> seen;
  for (const KeyGroup& group : key_groups()) {
    for (const KeyFacts& row : group.rows) {
      EXPECT_TRUE(seen.insert(row.name).second) << row.name << " is there twice";
      EXPECT_FALSE(row.types.empty()) << row.name;
      EXPECT_FALSE(row.absent.empty()) << row.name;
      EXPECT_FALSE(row.means.empty()) << row.name;
      EXPECT_LE(row.least, row.most) << row.name;
      bool has_array = false;
      for_each_name(row.types, [&](std::string_view text) {
        const auto type = key_value_type(text);
        ASSERT_TRUE(type) << row.name << ": " << text;
        has_array = has_array || type->elements;
      });
      EXPECT_EQ(has_array, !row.length.empty()) << row.name;
      EXPECT_EQ(row.absent == "refused", row.needed_by == "*") << row.name;
    }
  }
}

TEST(KeyFacts, ReadersAreArchitectures) {
  const std::set<std::string_view> known = architectures();
  for (const KeyGroup& group : key_groups()) {
    for (const KeyFacts& row : group.rows) {
      for (const std::string_view list : {row.readers, row.needed_by}) {
        if (list == "*") continue;
        for_each_name(list,
                      [&](std::string_view name) { EXPECT_TRUE(known.contains(name)) << row.name << ": " << name; });
      }
      for_each_name(row.needed_by, [&](std::string_view name) {
        EXPECT_TRUE(row.readers == "*" || has_name(row.readers, name)) << row.name << ": " << name;
      });
    }
  }
}

// Every key that converters write is in the table, with a type listed there.
TEST(KeyFacts, FamiliesWriteKnownKeys) {
  for (const Family* family : all_families()) {
    for (const Key* key : keys_of(*family)) {
      if (key->when == "0") continue;  // never written
      const std::string name = key->name.starts_with("tokenizer.")
                                   ? std::string(key->name)
                                   : std::string(family->gguf) + "." + std::string(key->name);
      const KeyFacts* facts = find_key_facts(name, family->gguf);
      ASSERT_NE(facts, nullptr) << name;
      const bool is_text = key->type == KeyType::text, is_flag = key->type == KeyType::flag;
      EXPECT_EQ(has_name(facts->types, "string"), is_text) << name;
      if (is_flag) {
        EXPECT_TRUE(has_name(facts->types, "bool")) << name;
      }
      if (key->type == KeyType::u32_or_layers || key->type == KeyType::flag_layers) {
        EXPECT_TRUE(facts->has_one_for_each_layer()) << name;
      }
    }
  }
}

TEST(KeyFacts, AreFoundByTheNameOfAFile) {
  ASSERT_NE(find_key_facts("llama.block_count", "llama"), nullptr);
  EXPECT_EQ(find_key_facts("llama.block_count", "llama")->name, "*.block_count");
  EXPECT_EQ(find_key_facts("llama.block_count", "qwen3"), nullptr);
  EXPECT_EQ(find_key_facts("llama.block_count", ""), nullptr);
  EXPECT_EQ(find_key_facts("llama.nonsense", "llama"), nullptr);
  ASSERT_NE(find_key_facts("general.base_model.12.name", "llama"), nullptr);
  EXPECT_EQ(find_key_facts("general.base_model.1.2.name", "llama"), nullptr);
  EXPECT_EQ(find_key_facts("general.base_model..name", "llama"), nullptr);
  EXPECT_EQ(find_key_facts("tokenizer.ggml.other_token_id", "")->types, "u32");
}

TEST(KeyFacts, TypesAreRead) {
  EXPECT_EQ(key_value_type("u32"), (KeyValueType{gguf::ValueType::u32, std::nullopt}));
  EXPECT_EQ(key_value_type("string[]"), (KeyValueType{gguf::ValueType::array, gguf::ValueType::string}));
  for (const std::string_view none : {"", "[]", "u33", "u32[][]", "array"})
    EXPECT_EQ(key_value_type(none), std::nullopt);
}

TEST(RuntimeTensors, EveryArchitectureHasSome) {
  for (const RuntimeArchitecture& row : runtime_architectures()) {
    for_each_name(row.names, [&](std::string_view name) {
      if (name == "clip" || name == "gptj") return;  // no tensors are known for these
      EXPECT_FALSE(runtime_tensors(name).empty()) << name;
    });
  }
}

TEST(RuntimeTensors, AreMatchedByNumbersAndSuffixes) {
  const std::string_view dream = runtime_tensors("dream");
  EXPECT_TRUE(has_runtime_tensor(dream, "blk.11.attn_q.weight"));
  EXPECT_TRUE(has_runtime_tensor(dream, "blk.11.attn_q.bias"));
  EXPECT_FALSE(has_runtime_tensor(dream, "blk.x.attn_q.weight"));
  EXPECT_FALSE(has_runtime_tensor(dream, "blk..attn_q.weight"));
  EXPECT_FALSE(has_runtime_tensor(dream, "attn_q.weight"));
  EXPECT_FALSE(has_runtime_tensor(dream, "blk.1.attn_z.weight"));
  EXPECT_TRUE(has_runtime_tensor(dream, "output_norm.weight"));
  EXPECT_FALSE(has_runtime_tensor(dream, "output_norm.bias"));
  const std::string_view speech = runtime_tensors("wavtokenizer-dec");
  EXPECT_TRUE(has_runtime_tensor(speech, "posnet.3.norm1.bias"));
  EXPECT_TRUE(has_runtime_tensor(runtime_tensors("eagle3"), "d2t"));
  EXPECT_FALSE(has_runtime_tensor(runtime_tensors("eagle3"), "d2t.weight"));
}

TEST(RuntimeArchitectures, DraftsAreKnown) {
  EXPECT_TRUE(is_draft_architecture("eagle3"));
  EXPECT_FALSE(is_draft_architecture("bert"));
}

}  // namespace
}  // namespace modelutils::arch
