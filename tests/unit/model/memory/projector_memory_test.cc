#include <fmt/core.h>
#include <gtest/gtest.h>

#include "formats/gguf/split_set.h"
#include "model/memory/fit.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils::memory {

namespace {

// A tower as far as its buffer depends on it.
struct Tower {
  std::string type = {};
  u32 width = 0, feed_forward = 0, image = 0, patch = 0;
  u64 measured = 0;  // llama.cpp's mtmd, v0.5.0: "CPU compute buffer size" in hundredths of MiB
  bool is_gated = false;
  u32 merged = 0;  // clip.vision.projector.scale_factor
  bool has_class = false;
  bool has_windows = false;
  u64 first_rows = 0, last_rows = 0;  // of mm.0.weight and mm.2.weight
};

test::GgufBuilder file_of(const Tower& tower, std::string_view kind = "vision") {
  const auto key = [&](std::string_view name) { return fmt::format("clip.{}.{}", kind, name); };
  test::GgufBuilder file;
  file.key_string("general.architecture", "clip").key_bool(fmt::format("clip.has_{}_encoder", kind), 1);
  file.key_string("clip.projector_type", tower.type).key_u32(key("embedding_length"), tower.width);
  file.key_u32(key("feed_forward_length"), tower.feed_forward).key_u32(key("block_count"), 1);
  if (kind == "audio") return file.key_u32(key("num_mel_bins"), tower.image).f32_tensor("a.post_ln.bias", {4}), file;
  file.key_u32(key("image_size"), tower.image).key_u32(key("patch_size"), tower.patch);
  if (tower.merged > 0) file.key_u32(key("projector.scale_factor"), tower.merged);
  if (tower.has_windows) file.key_u32(key("n_wa_pattern"), 8);
  file.f32_tensor("v.blk.0.ln1.weight", {4});
  if (tower.is_gated) file.f32_tensor("v.blk.0.ffn_gate.weight", {1, 1});
  if (tower.has_class) file.f32_tensor("v.class_embd", {4});
  if (tower.first_rows > 0) file.f32_tensor("mm.0.weight", {1, tower.first_rows});
  if (tower.last_rows > 0) file.f32_tensor("mm.2.weight", {1, tower.last_rows});
  return file;
}

Result<std::optional<ProjectorMemory>> memory_of(const test::GgufBuilder& file) {
  const test::TempDir folder;
  const std::string path = folder.write("mmproj.gguf", file.build());
  const auto set = gguf::open_set(path);
  if (!set) return tl::make_unexpected(set.error());
  return projector_memory(*set);
}

TEST(ProjectorMemory, BuffersAreCloseToThoseOfLlamaCpp) {
  const Tower towers[] = {
      {.type = "gemma3", .width = 1152, .feed_forward = 4304, .image = 896, .patch = 14, .measured = 12125},
      {.type = "idefics3",
       .width = 768,
       .feed_forward = 3072,
       .image = 512,
       .patch = 16,
       .measured = 2100,
       .merged = 4},
      {.type = "internvl",
       .width = 1024,
       .feed_forward = 4096,
       .image = 448,
       .patch = 14,
       .measured = 2803,
       .merged = 2,
       .has_class = true},
      {.type = "janus_pro", .width = 1024, .feed_forward = 4096, .image = 384, .patch = 16, .measured = 1575},
      {.type = "lfm2", .width = 1152, .feed_forward = 4304, .image = 256, .patch = 16, .measured = 3031, .merged = 2},
      {.type = "mlp",
       .width = 1024,
       .feed_forward = 4096,
       .image = 336,
       .patch = 14,
       .measured = 2155,
       .has_class = true,
       .first_rows = 4096,
       .last_rows = 4096},
      {.type = "pixtral",
       .width = 1024,
       .feed_forward = 4096,
       .image = 1024,
       .patch = 16,
       .measured = 1606,
       .is_gated = true},
      {.type = "qwen2vl_merger",
       .width = 1280,
       .feed_forward = 5120,
       .image = 560,
       .patch = 14,
       .measured = 26708,
       .first_rows = 5120,
       .last_rows = 3584},
      {.type = "qwen2.5vl_merger",
       .width = 1280,
       .feed_forward = 3420,
       .image = 560,
       .patch = 14,
       .measured = 59437,
       .is_gated = true,
       .has_windows = true,
       .first_rows = 5120,
       .last_rows = 3584},
      {.type = "qwen3vl_merger",
       .width = 1152,
       .feed_forward = 4304,
       .image = 768,
       .patch = 16,
       .measured = 24810,
       .first_rows = 4608,
       .last_rows = 4096},
  };
  for (const Tower& tower : towers) {
    const auto memory = memory_of(file_of(tower));
    ASSERT_TRUE(memory && *memory) << tower.type;
    const double mib = static_cast<double>((*memory)->compute) / (1 << 20);
    const double ratio = 100 * mib / static_cast<double>(tower.measured);
    EXPECT_GT(ratio, projector_error.least - 5e-4) << tower.type << " " << mib;
    EXPECT_LT(ratio, projector_error.most + 5e-4) << tower.type << " " << mib;
  }
}

TEST(ProjectorMemory, OfASound) {
  const auto memory = memory_of(file_of(
      {.type = "qwen2a", .width = 1280, .feed_forward = 5120, .image = 128, .patch = 0, .measured = 5127}, "audio"));
  ASSERT_TRUE(memory && *memory);
  EXPECT_EQ((*memory)->compute, u64{1500} * (5120 + 3 * 1280) * 4);
  EXPECT_EQ((*memory)->picture, 0u);
  EXPECT_EQ((*memory)->weights, 16u);
}

TEST(ProjectorMemory, HostileSizes) {
  EXPECT_EQ(
      memory_of(
          file_of({.type = "gemma3", .width = 1152, .feed_forward = 4304, .image = 896, .patch = 0, .measured = 0}))
          .error()
          .code,
      "fit-key");
  EXPECT_EQ(memory_of(file_of({.type = "pixtral",
                               .width = 4294967295,
                               .feed_forward = 4294967295,
                               .image = 4294967295,
                               .patch = 4294967295,
                               .measured = 0}))
                .error()
                .code,
            "fit-too-large");
  test::GgufBuilder bare;
  bare.key_string("general.architecture", "clip").key_bool("clip.has_vision_encoder", 1).f32_tensor("v.x", {4});
  EXPECT_EQ(memory_of(bare).error().code, "fit-key");
  test::GgufBuilder model;
  model.key_string("general.architecture", "llama").f32_tensor("x", {4});
  const auto none = memory_of(model);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
}

}  // namespace

}  // namespace modelutils::memory
