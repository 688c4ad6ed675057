#include "model/listing/listing.h"

#include <gtest/gtest.h>

#include "support/safetensors_text.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::safetensors_bytes;

// Computed by hand: 2 rows of 4 words with 8 values of 4 bits each; one scale and one bias per 32 values.
constexpr std::string_view header = R"({"__metadata__":{"format":"mlx","k":"v"},)"
                                    R"("a.weight":{"dtype":"U32","shape":[2,4],"data_offsets":[0,32]},)"
                                    R"("a.scales":{"dtype":"BF16","shape":[2,1],"data_offsets":[32,36]},)"
                                    R"("a.biases":{"dtype":"BF16","shape":[2,1],"data_offsets":[36,40]},)"
                                    R"("norm.weight":{"dtype":"F32","shape":[3],"data_offsets":[40,52]}})";

Model open(const test::TempDir& folder, std::string_view config) {
  folder.write("model.safetensors", safetensors_bytes(header, std::string(52, '\0')));
  if (!config.empty()) folder.write("config.json", config);
  auto model = open_safetensors_model(folder.path());
  if (!model) throw std::runtime_error(model.error().message);
  return Model(std::move(*model));
}

constexpr std::string_view quantized =
    R"({"model_type":"llama","hidden_size":32,"num_attention_heads":4,"quantization":{"group_size":32,"bits":4}})";

TEST(SafetensorsListing, ModulesSayMoreThanStoredTensors) {
  const test::TempDir folder;
  const Model model = open(folder, quantized);
  const Listing listing = listing_of(model)->list({});
  EXPECT_EQ(listing.kind, "MLX model, quantised");
  EXPECT_EQ(listing.facts.architecture, "llama");
  EXPECT_EQ(listing.facts.head_dim, 8U);
  EXPECT_EQ(listing.facts.parameters, 2 * 32 + 3U);
  EXPECT_EQ(listing.facts.tensor_bytes, 52U);
  EXPECT_TRUE(listing.is_packed());
  ASSERT_EQ(listing.forms.size(), 2U);
  EXPECT_EQ(listing.forms[0].name, "affine 4-bit, group 32");
  EXPECT_EQ(listing.forms[0].bytes, 40U);
  EXPECT_EQ(listing.forms[1].name, "F32");

  ASSERT_EQ(listing.modules.size(), 2U);
  EXPECT_EQ(listing.modules[0].path, "a");
  EXPECT_EQ(listing.modules[0].bits, 4U);
  EXPECT_EQ(listing.modules[0].parameters, 64U);
  EXPECT_EQ(listing.modules[0].bytes, 40U);
  EXPECT_FALSE(listing.modules[1].quantized);

  ASSERT_EQ(listing.tensors.size(), 4U);
  EXPECT_EQ(listing.tensors[0].module, 0U);
  EXPECT_EQ(listing.tensors[0].parameters, 64U);
  EXPECT_TRUE(listing.tensors[1].is_part);
  EXPECT_EQ(listing.tensors[1].parameters, 0U);
  EXPECT_EQ(listing.tensors[3].entry->begin, 40U);
  EXPECT_EQ(listing.tensors[3].entry->end, 52U);
  EXPECT_EQ(listing.tensors[3].data_offset(), 8 + header.size() + 40);
}

TEST(SafetensorsListing, WithoutConfigPackedWeightsCountAsStored) {
  const test::TempDir folder;
  const Model model = open(folder, "");
  const Listing listing = listing_of(model)->list({});
  EXPECT_EQ(listing.kind, "directory of safetensors files");
  EXPECT_TRUE(listing.counts_packed_as_stored);
  EXPECT_FALSE(listing.facts.bits_per_weight);
  EXPECT_EQ(listing.facts.parameters, 2 * 4 + 3U);
}

TEST(SafetensorsListing, GlobsSelectAndCountsStay) {
  const test::TempDir folder;
  const Model model = open(folder, quantized);
  const auto source = listing_of(model);
  const Listing some = source->list({.key_globs = {"k"}, .tensor_patterns = {"norm*"}});
  ASSERT_EQ(some.keys.size(), 1U);
  EXPECT_EQ(some.key_count, 2U);
  ASSERT_EQ(some.tensors.size(), 1U);
  EXPECT_EQ(some.tensors[0].index, 3U);
  EXPECT_EQ(some.tensor_count, 4U);
  ASSERT_EQ(some.modules.size(), 1U);
  EXPECT_EQ(some.module_count, 2U);
  EXPECT_EQ(some.facts.tensors, 4U);

  ListingRequest without_tensors;
  without_tensors.tensors = false;
  without_tensors.config_keys = true;
  const Listing none = source->list(without_tensors);
  EXPECT_TRUE(none.tensors.empty());
  EXPECT_TRUE(none.modules.empty());
  EXPECT_TRUE(none.is_packed());
  EXPECT_EQ(none.config_keys,
            (std::vector<std::string>{"model_type", "hidden_size", "num_attention_heads", "quantization"}));
}

TEST(SafetensorsListing, ValuesOfWhatIsThere) {
  const test::TempDir folder;
  const Model model = open(folder, quantized);
  const auto source = listing_of(model);
  EXPECT_EQ(std::get<std::string_view>(source->find_value("k").value()), "v");
  EXPECT_EQ(std::get<std::string_view>(source->find_value("hidden_size").value()), "32");
  EXPECT_FALSE(source->find_value("other"));
  const Tensor* codes = source->find_tensor("a.weight");
  ASSERT_NE(codes, nullptr);
  EXPECT_EQ(model.in_file_order(model.ne_of(*codes)), (std::vector<u64>{2, 32}));
  EXPECT_EQ(model.in_file_order(codes->ne), (std::vector<u64>{2, 4}));
  EXPECT_EQ(model.type_text(*codes), "affine 4-bit, group 32");
  EXPECT_EQ(source->find_tensor("b"), nullptr);
}

}  // namespace
}  // namespace modelutils
