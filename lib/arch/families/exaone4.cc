// EXAONE 4: norms after attention and feed-forward, and of queries and keys per head. With 64 layers (32B) three of
// four layers slide, and the fourth has no rotary embedding; with other layer counts none slides.
#include <fmt/core.h>

#include <algorithm>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::exaone4 {

constexpr auto sizes = decoder_sizes({.context = "2048", .epsilon = "1e-5"});

// Returns which layers slide, from "LLLG" or a period in sliding_window_pattern, or from the layer types.
static std::vector<bool> sliding_layers(const KeyWriter& out) {
  const hf::Config& config = out.config();
  std::vector<bool> slides(static_cast<std::size_t>(out.size("L")), false);
  if (!config.sliding_window) return slides;
  const std::string_view pattern = config.string_field("sliding_window_pattern").value_or("");
  const u64 period = config.sliding_window_pattern.value_or(0);
  for (std::size_t i = 0; i < slides.size(); ++i) {
    if (!pattern.empty()) {
      slides[i] = pattern[i % pattern.size()] == 'L';
    } else if (i < config.layer_types.size()) {
      slides[i] = config.layer_types[i] == "sliding_attention";
    } else {
      slides[i] = period != 0 && (i + 1) % period != 0;
    }
  }
  return slides;
}

static Status write_windows(KeyWriter& out, const Key& key) {
  const std::vector<bool> slides = sliding_layers(out);
  const bool is_fixed = slides.size() == 64;
  for (std::size_t i = 0; i < slides.size(); ++i) {
    if (slides[i] == (is_fixed && (i + 1) % 4 != 0)) continue;
    return out.refuse(
        "sliding_window_pattern",
        fmt::format("makes layer {} of {} {}; in llama.cpp three of four layers slide if there are 64, otherwise none",
                    i, slides.size(), slides[i] ? "slide" : "global"));
  }
  if (!is_fixed) return {};
  MU_TRY(out.count(key.name, *out.config().sliding_window));
  out.flags("attention.sliding_window_pattern", slides);
  return {};
}
constexpr Key windows[] = {
    {.name = "attention.sliding_window", .write = write_windows},
    {.name = "attention.sliding_window_pattern", .type = KeyType::flag_layers},
};
static Status describe(ConfigWriter& out) {
  MU_ASSIGN(const std::vector<bool> slides, sliding_layers(out));
  const bool is_sliding = std::find(slides.begin(), slides.end(), true) != slides.end();
  out.set("layer_types", layer_types(slides));
  if (is_sliding) {
    out.set("sliding_window", out.count("attention.sliding_window").value_or(4096));
    out.set("sliding_window_pattern", "LLLG");
  } else {
    out.set("sliding_window", nullptr);
    out.set("sliding_window_pattern", nullptr);
  }
  return {};
}

constexpr Family exaone4 = {
    .name = "exaone4",
    .gguf = "exaone4",
    .classes = "Exaone4ForCausalLM|Exaone4_5_ForConditionalGeneration",
    .model_types = "exaone4|exaone4_5|exaone4_5_text",
    .about = "norms after the blocks, QK norm; the 32B model slides in three of four layers",
    .tied_by_default = true,
    .keys = {sizes, rope_keys, windows},
    .layer_tensors = {attention_without_norm, qk_norms, norm_after_attention, gated_feed_forward,
                      norm_after_feed_forward},
    .first_tensors = embedding_and_llama3,
    .fixed = {rotates_halves, rotates_whole_head},
    .relations = {whole_width},
    .config = {.fields = "layer_types", .members = {{"rope_scaling", "null"}}, .describe = describe},
    .cache = {.windows =
                  {.rule = Windows::Rule::period, .period = 4, .always = true, .missing = 4096, .only_with_layers = 64},
              .prediction = PredictionBlocks::cached},
};
MU_FAMILY(exaone4);

}  // namespace modelutils::arch::families::exaone4
