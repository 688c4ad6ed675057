#include "model/listing/listing.h"

#include <gtest/gtest.h>

#include "formats/gguf/document.h"
#include "model/listing/chat_source.h"
#include "model/listing/model_facts.h"
#include "model/listing/tensor_statistics.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils {

namespace {

using test::GgufBuilder;

gguf::SplitSet open(const test::TempDir& folder, const GgufBuilder& builder) {
  auto set = gguf::open_set(folder.write("m.gguf", builder.build()));
  if (!set) throw std::runtime_error(set.error().message);
  return std::move(*set);
}

TEST(ModelFacts, RangesOfPerLayerHeads) {
  const test::TempDir folder;
  const auto set = open(folder, GgufBuilder()
                                    .key_string("general.architecture", "openelm")
                                    .key_u32("general.file_type", 1024 + 15)
                                    .key_u32("openelm.embedding_length", 64)
                                    .key_array<i32>("openelm.attention.head_count", {12, 16, 20})
                                    .key_array<i32>("openelm.attention.head_count_kv", {3, 3})
                                    .key_array<u32>("openelm.feed_forward_length", {})
                                    .key_strings("tokenizer.ggml.tokens", {"a", "b"}));
  const ModelFacts summary = summarize(set);
  ASSERT_TRUE(summary.heads);
  EXPECT_EQ(summary.heads->low, 12U);
  EXPECT_EQ(summary.heads->high, 20U);
  EXPECT_EQ(summary.heads_kv->low, summary.heads_kv->high);
  EXPECT_FALSE(summary.feed_forward);
  EXPECT_FALSE(summary.head_dim);
  EXPECT_EQ(summary.vocabulary, 2U);
  EXPECT_EQ(summary.mix, "Q4_K_M");
}

TEST(ModelFacts, SumsThatDoNotFitAreNotKnown) {
  const test::TempDir folder;
  const auto set = open(folder, GgufBuilder()
                                    .tensor({.name = "a", .ne = {u64{1} << 62}, .type = 24})
                                    .tensor({.name = "b", .ne = {u64{1} << 62, 2}, .type = 24})
                                    .tensor({.name = "c", .ne = {u64{1} << 63}, .type = 24}));
  const ModelFacts summary = summarize(set);
  EXPECT_EQ(summary.tensors, 3U);
  EXPECT_FALSE(summary.parameters);
  EXPECT_FALSE(summary.tensor_bytes);
  EXPECT_FALSE(summary.bits_per_weight);
}

TEST(FileType, Names) {
  EXPECT_EQ(gguf::file_type_name(0), "F32");
  EXPECT_EQ(gguf::file_type_name(7), "Q8_0");
  EXPECT_EQ(gguf::file_type_name(15), "Q4_K_M");
  EXPECT_EQ(gguf::file_type_name(25), "IQ4_NL");
  EXPECT_EQ(gguf::file_type_name(32), "BF16");
  EXPECT_EQ(gguf::file_type_name(4), "");
  EXPECT_EQ(gguf::file_type_name(38), "MXFP4");
  EXPECT_EQ(gguf::file_type_name(41), "Q2_0");
  EXPECT_EQ(gguf::file_type_name(42), "");
  EXPECT_EQ(gguf::file_type_name(~u64{0}), "");
}

// Computed by hand: a Q8_0 block has 34 bytes for 32 elements; the data and every tensor are aligned to 32.
TEST(GgufListing, TensorsAreWhereTheFileHasThem) {
  const test::TempDir folder;
  const Model model(open(folder, GgufBuilder()
                                     .key_string("general.architecture", "llama")
                                     .tensor({.name = "q", .ne = {32, 2}, .type = 8, .data = std::string(68, '\0')})
                                     .f32_tensor("blk.0.f", {4})
                                     .tensor({.name = "odd", .ne = {4}, .type = 137})),
                    "as given");
  const Listing listing = listing_of(model)->list({});
  EXPECT_EQ(listing.path, "as given");
  EXPECT_EQ(listing.kind, "GGUF v3");
  ASSERT_EQ(listing.tensors.size(), 3U);
  const ListedTensor& q = listing.tensors[0];
  const ListedTensor& f = listing.tensors[1];
  const ListedTensor& odd = listing.tensors[2];
  EXPECT_EQ(q.type_name, "Q8_0");
  EXPECT_EQ(q.parameters, 64U);
  EXPECT_EQ(q.bytes(), 68U);
  EXPECT_EQ(q.data_offset(), listing.files[0].data_offset);
  EXPECT_EQ(f.data_offset(), *q.data_offset() + 96);
  EXPECT_EQ(f.index, 1U);
  EXPECT_TRUE(f.stored->is_readable());
  EXPECT_EQ(odd.type_name, "137");
  EXPECT_FALSE(odd.type());
  EXPECT_FALSE(odd.bytes());
  EXPECT_EQ(problem_text(odd.stored->unreadable), "the tensor's type or size is not known");
}

TEST(GgufListing, GlobsSelectAndCountsStay) {
  const test::TempDir folder;
  const Model model(open(folder, GgufBuilder()
                                     .key_string("general.architecture", "llama")
                                     .key_u32("llama.block_count", 1)
                                     .f32_tensor("a", {4})
                                     .f32_tensor("b", {4})),
                    "m.gguf");
  const auto source = listing_of(model);
  const Listing some = source->list({.key_globs = {"*.block_count"}, .tensor_patterns = {"b", "c"}});
  ASSERT_EQ(some.keys.size(), 1U);
  EXPECT_EQ(some.keys[0].index, 4U);  // after the header's three fields and general.architecture
  EXPECT_EQ(some.key_count, 2U);
  ASSERT_EQ(some.tensors.size(), 1U);
  EXPECT_EQ(some.tensors[0].index, 1U);
  EXPECT_EQ(some.tensor_count, 2U);
  ASSERT_EQ(some.header_fields.size(), 3U);
  EXPECT_TRUE(some.header_fields[0].is_hidden);
  EXPECT_EQ(some.facts.tensors, 2U);

  ListingRequest without_tensors;
  without_tensors.tensors = false;
  const Listing none = source->list(without_tensors);
  EXPECT_TRUE(none.tensors.empty());
  EXPECT_FALSE(none.has_tensors);
  EXPECT_EQ(none.tensor_count, 2U);
}

TEST(GgufListing, ValuesOfWhatIsThere) {
  const test::TempDir folder;
  const Model model(
      open(folder, GgufBuilder().key_u8("k", 7).f32_tensor("f", {4}).tensor({.name = "odd", .ne = {4}, .type = 137})),
      "m.gguf");
  const auto source = listing_of(model);
  EXPECT_EQ(std::get<u64>(source->find_value("k").value()), 7U);
  EXPECT_EQ(std::get<u64>(source->find_value("GGUF.version").value()), 3U);
  EXPECT_FALSE(source->find_value("K"));
  ASSERT_NE(source->find_tensor("f"), nullptr);
  EXPECT_EQ(model.elements_of(*source->find_tensor("f")), 4U);
  ASSERT_NE(source->find_tensor("odd"), nullptr);
  EXPECT_FALSE(source->find_tensor("odd")->is_readable());
  EXPECT_EQ(source->find_tensor("g"), nullptr);
  Progress progress;
  const auto rows = statistics_of(model, source->list({}).tensors, &progress);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ(progress.done(), 32U);  // four values of four bytes, read twice
  EXPECT_EQ((*rows)[0].problem, "");
  EXPECT_EQ((*rows)[1].name, "odd");
  EXPECT_EQ((*rows)[1].type, "137");
  EXPECT_NE((*rows)[1].problem, "");
}

std::vector<u64> stops_of(const std::vector<std::string>& texts, u32 eos) {
  const test::TempDir folder;
  const auto set = open(folder, GgufBuilder()
                                    .key_string("general.architecture", "llama")
                                    .key_u32("tokenizer.ggml.eos_token_id", eos)
                                    .key_strings("tokenizer.ggml.tokens", texts));
  std::vector<u64> ids;
  for (const NamedToken& token : stop_tokens(set)) ids.push_back(token.id);
  return ids;
}

// The expected ids are those that llama.cpp's loader logs as EOG tokens.
TEST(StopTokens, ThoseOfLlamaCpp) {
  using Ids = std::vector<u64>;
  EXPECT_EQ(stops_of({"a", "<|im_end|>", "b", "[EOT]", "<x>"}, 2), (Ids{1, 2, 3}));
  EXPECT_EQ(stops_of({"<|end|>", "a"}, 9), Ids{0}) << "an id outside the vocabulary is no token";
  EXPECT_EQ(stops_of({"<|end|>", "<|return|>", "<|call|>", "<|channel|>"}, 1), (Ids{1, 2})) << "gpt-oss";
  EXPECT_EQ(stops_of({"<|end|>", "<|return|>"}, 1), (Ids{0, 1})) << "no token for calls";
  EXPECT_EQ(stops_of({"</s>", "<turn|>", "<|tool_response>"}, 1), (Ids{1, 2})) << "gemma 4";
}

}  // namespace

}  // namespace modelutils
