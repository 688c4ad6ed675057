#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "arch/projectors.h"
#include "base/error.h"
#include "formats/gguf/document.h"
#include "model/memory/fit.h"

namespace modelutils::memory {

namespace {

constexpr u64 element_bytes = 4;                            // F32
constexpr u64 sound_frames = 3000, sound_positions = 1500;  // 30 seconds

// The buffer for one picture or sound, as wide as the widest of three: the feed-forward part of a layer, attention, and
// the layers after the tower. Derived from the buffers that llama.cpp reserves (docs/memory.md, "Projectors").
class TowerBuffer {
 public:
  TowerBuffer(const gguf::Index& index, const arch::Encoder& encoder) : index_(index), encoder_(encoder) {
    const auto type = arch::projector_type(index, encoder);
    row_ = type ? arch::find_projector(*type, encoder, index) : nullptr;
  }

  Result<u64> bytes() {
    MU_ASSIGN(const u64 width, number("embedding_length"));
    MU_ASSIGN(const u64 feed_forward, number("feed_forward_length"));
    if (encoder_.name == "vision") {
      MU_TRY(measure_picture());
    } else {
      MU_ASSIGN(const u64 bins, number("num_mel_bins"));
      positions_ = tokens_ = sound_positions;
      input_ = Amount(sound_frames) * bins;
    }
    const Amount hidden = is_gated() ? Amount(width) * 4 + Amount(feed_forward) * 3 : Amount(width) * 3 + feed_forward;
    const Amount attention = positions_ * (Amount(width) * 6) + input_;
    const Amount behind = tokens_ * projected() + positions_ * width + input_;
    const Amount cut = input_ + positions_ * width + patch_numbers_ / 2;  // patches side by side, in F16
    Amount widest = max(max(positions_ * hidden, attention), max(behind, cut));
    if (index_.unsigned_value("clip.vision.n_wa_pattern").value_or(0) > 0) {
      // Masks for windows, in F32 and in F16.
      widest = max(widest, positions_ * (Amount(width) * 4) + input_ + positions_ * positions_ * 3 / 2);
    }
    const auto all = (widest * element_bytes).value();
    if (!all) return input_error("fit-too-large", "the buffer of the projector exceeds 2^64 bytes");
    return *all;
  }

  u64 side() const { return side_; }

 private:
  Result<u64> number(std::string_view name) const {
    const std::string key = fmt::format("clip.{}.{}", encoder_.name, name);
    if (const auto value = index_.unsigned_value(key)) return *value;
    return input_error("fit-key", "is missing; the memory cannot be calculated without it", at_key(key));
  }

  bool is_gated() const { return index_.tensor(fmt::format("{}blk.0.ffn_gate.weight", encoder_.prefix)) != nullptr; }

  // The picture for which llama.cpp reserves memory.
  Status measure_picture() {
    MU_ASSIGN(const u64 patch, number("patch_size"));
    MU_ASSIGN(side_, number("image_size"));
    const u64 merged = row_ == nullptr ? 1 : arch::merged_patches(index_, *row_);
    if (row_ != nullptr && row_->tokens.warmup > 0) {
      const auto tokens = static_cast<u64>(std::sqrt(static_cast<double>(row_->tokens.warmup)));
      const auto side = (Amount(tokens) * patch * merged).value();
      if (!side) return input_error("fit-too-large", "the picture is too large", at_key("clip.vision.patch_size"));
      side_ = *side;
    }
    if (patch == 0 || merged == 0) {
      return input_error("fit-key", "is 0; the memory cannot be calculated", at_key("clip.vision.patch_size"));
    }
    const u64 patches = side_ / patch, across = patches / merged;
    positions_ = Amount(patches) * patches + (index_.tensor("v.class_embd") != nullptr ? 1 : 0);
    tokens_ = Amount(across) * across;
    input_ = Amount(side_) * side_ * 3;
    patch_numbers_ = Amount(patches) * patches * patch * patch * 3;
    return {};
  }

  // Returns the count of numbers per token in the layers after the tower: the first layer's output twice (before and
  // after the activation), or the outputs of the first and the last layer.
  Amount projected() const {
    const gguf::TensorInfo* first = row_ == nullptr ? nullptr : index_.tensor(row_->first);
    if (first == nullptr || first->ne.size() < 2) return 0;
    const auto last = arch::projector_width(index_, encoder_);
    return max(Amount(first->ne[1]) * 2, Amount(first->ne[1]) + (last ? last->size : 0));
  }

  const gguf::Index& index_;
  const arch::Encoder& encoder_;
  const arch::Projector* row_ = nullptr;
  Amount positions_, tokens_, input_, patch_numbers_;
  u64 side_ = 0;
};

}  // namespace

Result<std::optional<ProjectorMemory>> projector_memory(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  if (index.architecture() != "clip") return std::nullopt;
  ProjectorMemory memory;
  memory.path = file.path;
  Amount weights;
  for (const gguf::TensorInfo& tensor : file.document.tensors) weights += tensor.bytes().value_or(0);
  Amount compute;  // each tower has a separate buffer
  for (const arch::Encoder& encoder : arch::encoders) {
    if (!index.bool_value(encoder.flag).value_or(false)) continue;
    TowerBuffer buffer(index, encoder);
    MU_ASSIGN(const u64 bytes, buffer.bytes());
    compute += bytes;
    memory.picture = std::max(memory.picture, buffer.side());
  }
  if (!(weights + compute).value()) return input_error("fit-too-large", "the projector exceeds 2^64 bytes");
  memory.weights = *weights.value();
  memory.compute = *compute.value();
  return memory;
}

}  // namespace modelutils::memory
