// The list of projectors. Each line names the file in this folder, which is also the namespace, and the projector's
// variable in it. A new projector needs a file and a line here. If several projectors have a model's class, all that
// match its settings are its towers.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "arch/key_writer.h"
#include "arch/projector_rows.h"
#include "formats/hf/config.h"

#define MU_ARCH_PROJECTORS(X)         \
  X(qwen2vl, qwen2vl)                 \
  X(qwen2_5vl, qwen2_5vl)             \
  X(qwen2_5vl, qwen2_5omni)           \
  X(qwen3vl, qwen3vl)                 \
  X(qwen3vl, qwen3omni)               \
  X(gemma3, gemma3)                   \
  X(gemma4v, gemma4v)                 \
  X(gemma4a, gemma4a)                 \
  X(pixtral, pixtral)                 \
  X(pixtral, lightonocr)              \
  X(llava, llava)                     \
  X(internvl, internvl)               \
  X(idefics3, idefics3)               \
  X(llama4, llama4)                   \
  X(glm4v, glm4v)                     \
  X(kimivl, kimivl)                   \
  X(kimik25, kimik25)                 \
  X(lfm2, lfm2)                       \
  X(minicpmv4_6, minicpmv4_6)         \
  X(paddleocr, paddleocr)             \
  X(dots_ocr, dots_ocr)               \
  X(hunyuanvl, hunyuanvl)             \
  X(deepseekocr, deepseekocr)         \
  X(janus_pro, janus_pro)             \
  X(phi4, phi4)                       \
  X(exaone4_5, exaone4_5)             \
  X(cogvlm, cogvlm)                   \
  X(granite4_vision, granite4_vision) \
  X(whisper, qwen2a)                  \
  X(whisper, ultravox)                \
  X(whisper, voxtral)                 \
  X(whisper, musicflamingo)           \
  X(whisper, qwen2_5omni)             \
  X(whisper, qwen3a)                  \
  /* new ones go above this line */

namespace modelutils::arch {

#define MU_DECLARE_PROJECTOR(file, family)      \
  namespace towers::file {                      \
  extern const PackedProjector packed_##family; \
  }
MU_ARCH_PROJECTORS(MU_DECLARE_PROJECTOR)
#undef MU_DECLARE_PROJECTOR

}  // namespace modelutils::arch
