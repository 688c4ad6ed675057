#include "arch/image_models.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace modelutils::arch {
namespace {

ImageLayout layout_of(std::vector<std::string_view> names) {
  return image_layout(names);
}

TEST(ImageModels, TheFirstArchitectureWithAllItsNamesWins) {
  EXPECT_EQ(layout_of({"double_blocks.0.img_attn.proj.weight"}).model->name, "flux");
  // An SDXL has one of the names of each.
  EXPECT_EQ(layout_of({"down_blocks.0.downsamplers.0.conv.weight"}).model->name, "sd1");
  EXPECT_EQ(layout_of({"down_blocks.0.downsamplers.0.conv.weight", "add_embedding.linear_1.weight"}).model->name,
            "sdxl");
  EXPECT_FALSE(layout_of({"text_embedding.2.weight", "head.modulation"}));
  EXPECT_FALSE(layout_of({"blk.0.attn_q.weight", "output.weight"}));
}

TEST(ImageModels, LtxvNeedsNoCaptionProjection) {
  EXPECT_EQ(layout_of({"adaln_single.emb.timestep_embedder.linear_2.weight", "transformer_blocks.27.scale_shift_table",
                       "patchify_proj.weight"})
                .model->name,
            "ltxv");
}

TEST(ImageModels, PrefixOfSomeNamesIsThePrefixOfTheModel) {
  const ImageLayout whole =
      layout_of({"model.diffusion_model.double_blocks.0.img_attn.proj.weight", "vae.decoder.conv_in.weight"});
  EXPECT_EQ(whole.model->name, "flux");
  EXPECT_EQ(whole.prefix, "model.diffusion_model.");
  EXPECT_EQ(layout_of({"diffusion_model.joint_blocks.0.x_block.attn.qkv.weight"}).prefix, "diffusion_model.");
}

TEST(ImageModels, NetIsAPrefixIfAllNamesHaveIt) {
  EXPECT_EQ(layout_of({"net.double_blocks.0.img_attn.proj.weight"}).prefix, "net.");
  EXPECT_EQ(layout_of({"net.x.weight", "double_blocks.0.img_attn.proj.weight"}).prefix, "");
}

TEST(ImageModels, NamesOfDiffusersAreRecognised) {
  const ImageLayout flux = layout_of({"transformer_blocks.0.attn.to_out.0.weight", "x_embedder.weight"});
  EXPECT_EQ(flux.model->name, "flux");
  EXPECT_EQ(flux.names->name, "FluxTransformer2DModel");
  const ImageLayout sd3 = layout_of({"transformer_blocks.0.attn.to_out.0.weight",
                                     "transformer_blocks.0.attn.to_q.weight", "transformer_blocks.0.attn.to_k.weight",
                                     "transformer_blocks.0.attn.to_v.weight", "pos_embed.proj.bias"});
  EXPECT_EQ(sd3.model->name, "sd3");
}

TEST(ImageModels, PlacesOfDiffusersNames) {
  const ImageClass& flux = *find_image_classes("FluxTransformer2DModel").front().names;
  const auto k = image_place(flux, "transformer_blocks.12.attn.to_k.bias");
  ASSERT_TRUE(k);
  EXPECT_EQ(k->name, "double_blocks.12.img_attn.qkv.bias");
  EXPECT_EQ(k->part, 1u);
  EXPECT_EQ(k->parts, 3u);
  EXPECT_EQ(k->block, 12u);
  EXPECT_EQ(image_place(flux, "transformer_blocks.0.attn.norm_q.weight")->name,
            "double_blocks.0.img_attn.norm.query_norm.scale");
  EXPECT_EQ(image_place(flux, "single_transformer_blocks.3.proj_mlp.weight")->part, 3u);
  const auto norm = image_place(flux, "norm_out.linear.weight");
  EXPECT_EQ(norm->name, "final_layer.adaLN_modulation.1.weight");
  EXPECT_TRUE(norm->swaps);
  EXPECT_FALSE(norm->only_last);
  EXPECT_FALSE(image_place(flux, "transformer_blocks.x.attn.to_k.weight"));
  EXPECT_FALSE(image_place(flux, "transformer_blocks.0.attn.to_k.scale"));
  EXPECT_FALSE(image_place(flux, "transformer_blocks.0.attn"));

  const ImageClass& sd3 = *find_image_classes("SD3Transformer2DModel").front().names;
  EXPECT_TRUE(image_place(sd3, "transformer_blocks.1.norm1_context.linear.bias")->only_last);
  const ImageClass& wan = *find_image_classes("WanTransformer3DModel").front().names;
  EXPECT_EQ(image_place(wan, "blocks.0.norm2.weight")->name, "blocks.0.norm3.weight");
  EXPECT_EQ(image_place(wan, "blocks.0.scale_shift_table")->name, "blocks.0.modulation");
}

TEST(ImageModels, ClassesOfUnetsMayBeTwoArchitectures) {
  EXPECT_EQ(find_image_classes("UNet2DConditionModel").size(), 2u);
  EXPECT_TRUE(find_image_classes("SomethingNewTransformer2DModel").empty());
}

TEST(ImageModels, WhatIsNoModelIsNamed) {
  const auto text = [](std::vector<std::string_view> names) {
    return not_an_image_model(names, image_layout(names)).value_or("");
  };
  EXPECT_TRUE(text({"lora_unet_x.lora_down.weight"}).starts_with("is a LoRA"));
  EXPECT_TRUE(text({"double_blocks.0.img_attn.proj.weight", "a.lora_A.weight"}).starts_with("is a LoRA"));
  // A ControlNet has a UNet's names.
  EXPECT_TRUE(text({"down_blocks.0.downsamplers.0.conv.weight", "controlnet_down_blocks.0.weight"})
                  .starts_with("is a ControlNet"));
  EXPECT_EQ(text({"first_stage_model.a.weight"}), "has a VAE, but no diffusion model");
  EXPECT_TRUE(text({"encoder.conv_in.weight", "decoder.conv_in.weight"}).starts_with("is a VAE"));
  EXPECT_TRUE(text({"text_model.encoder.layers.0.mlp.fc1.weight"}).starts_with("is a text encoder"));
  EXPECT_TRUE(text({"label_emb.0.0.weight", "output_blocks.8.0.time_mixer.mix_factor"})
                  .starts_with("is Stable Video Diffusion"));
  EXPECT_EQ(text({"double_blocks.0.img_attn.proj.weight"}), "");
  EXPECT_EQ(text({"foo.bar"}), "");
}

TEST(ImageModels, TypesOfUnquantisedFiles) {
  using enum TensorType;
  const ImageModel& wan = *find_image_model("wan");
  const std::vector<u64> vector = {2048}, matrix = {2048, 2}, small = {1024, 1}, five = {2, 2, 1, 16, 64};
  const auto type = [&](std::string_view name, const std::vector<u64>& ne, TensorType source) {
    return plain_image_type(wan, name, ne, source);
  };
  EXPECT_EQ(type("a.weight", matrix, BF16), BF16);
  EXPECT_EQ(type("a.weight", matrix, F32), F32);
  EXPECT_EQ(type("a.bias", vector, BF16), F32);
  EXPECT_EQ(type("a.bias", vector, F16), F16);
  EXPECT_EQ(type("a.weight", small, BF16), F32);
  EXPECT_EQ(type("blocks.0.modulation", matrix, BF16), F32);
  EXPECT_EQ(type("blocks.0.modulation", matrix, F16), F16);
  EXPECT_EQ(type("a.weight", matrix, F8_E4M3), F16);
  EXPECT_EQ(type("a.bias", vector, F8_E5M2), F16);
  EXPECT_EQ(type("patch_embedding.weight", five, F16), F32);
  EXPECT_EQ(type("a.weight", matrix, I32), I32);
}

TEST(ImageModels, UnetsAreStoredInRowsOf256) {
  const ImageModel& sdxl = *find_image_model("sdxl");
  using Shape = std::vector<u64>;
  EXPECT_EQ(stored_image_ne(sdxl, Shape{320, 640}), (Shape{256, 800}));
  EXPECT_EQ(stored_image_ne(sdxl, Shape{3, 3, 320, 320}), (Shape{256, 3600}));
  EXPECT_EQ(stored_image_ne(sdxl, Shape{512, 640}), (Shape{512, 640}));
  EXPECT_EQ(stored_image_ne(sdxl, Shape{320}), (Shape{320}));
  EXPECT_EQ(stored_image_ne(sdxl, Shape{16, 16}), (Shape{16, 16}));
  EXPECT_EQ(stored_image_ne(sdxl, Shape{3, 3, 4, 320}), (Shape{256, 45}));
  EXPECT_EQ(stored_image_ne(*find_image_model("flux"), Shape{320, 640}), (Shape{320, 640}));
}

std::string variants(std::string_view model, std::vector<std::string_view> names, const ImageSizes& sizes,
                     std::vector<std::string> words = {}) {
  std::string text;
  for (const ImageVariant* variant : image_variants(*find_image_model(model), names, sizes, words)) {
    text += (text.empty() ? "" : ", ") + std::string(variant->name);
  }
  return text;
}

TEST(ImageModels, VariantsByNamesSizesAndWords) {
  const std::vector<std::string_view> dev = {"time_in.in_layer.weight", "guidance_in.in_layer.weight"};
  EXPECT_EQ(variants("flux", dev, {3072, 64, 4096}), "");
  EXPECT_EQ(variants("flux", dev, {3072, 384, 4096}), "Fill");
  EXPECT_EQ(variants("flux", dev, {3072, 64, 4096}, {"FLUX.1-Kontext-dev"}), "Kontext");
  EXPECT_EQ(variants("flux", {"time_in.in_layer.weight"}, {3072, 64, 4096}), "schnell");
  EXPECT_EQ(variants("flux", {"double_stream_modulation_img.lin.weight"}, {3072, 128, 7680}), "Flux 2, klein 4B");
  EXPECT_EQ(variants("wan", {}, {5120, 16, 4096}), "t2v");
  EXPECT_EQ(variants("wan", {"img_emb.proj.1.weight"}, {5120, 36, 4096}), "i2v");
  EXPECT_EQ(variants("wan", {"img_emb.proj.1.weight", "img_emb.emb_pos"}, {5120, 36, 4096}), "FLF");
  EXPECT_EQ(variants("wan", {}, {3072, 48, 4096}), "TI2V 2.2");
  EXPECT_EQ(variants("wan", {"vace_blocks.0.ffn.0.weight"}, {5120, 16, 4096}), "VACE");
  EXPECT_EQ(variants("sd1", {}, {320, 4, 768}), "");
  EXPECT_EQ(variants("sd1", {}, {320, 9, 1024}), "SD 2, inpainting");
}

TEST(ImageModels, ListsHaveParts) {
  EXPECT_TRUE(is_in_image_list("a. =b.weight", "x.a.weight"));
  EXPECT_TRUE(is_in_image_list("a. =b.weight", "b.weight"));
  EXPECT_FALSE(is_in_image_list("a. =b.weight", "c.b.weight"));
  EXPECT_FALSE(is_in_image_list("", "b.weight"));
}

}  // namespace
}  // namespace modelutils::arch
