// Every family, each defined in a file of this folder. A new one is a line here and a file.
#pragma once

#include "arch/family.h"

#define MU_ARCH_FAMILIES(X) \
  X(llama)                  \
  X(mixtral)                \
  X(qwen2)                  \
  X(qwen2moe)               \
  X(qwen3)                  \
  X(qwen3moe)               \
  X(gemma)                  \
  X(gemma2)                 \
  X(gemma3)                 \
  X(phi3)                   \
  X(glm4_moe)               \
  X(gpt_oss)                \
  X(glm4)                   \
  X(glm)                    \
  X(smollm3)                \
  X(ministral3)             \
  X(olmo3)                  \
  X(olmo2)                  \
  X(olmoe)                  \
  X(granite)                \
  X(granitemoe)             \
  X(mimo)                   \
  X(cohere)                 \
  X(cohere2)                \
  X(starcoder2)             \
  X(stablelm)               \
  X(minicpm)                \
  X(ernie4_5)               \
  X(exaone)                 \
  X(exaone4)                \
  X(seed_oss)               \
  X(nemotron)               \
  X(apertus)                \
  X(phi)                    \
  X(qwen)                   \
  X(olmo)                   \
  X(plamo)                  \
  X(hunyuan_dense)          \
  X(deepseek_v3)            \
  X(deepseek_v2)            \
  X(glm4_moe_lite)          \
  X(minicpm3)               \
  X(qwen3next)              \
  X(qwen35)                 \
  X(qwen35moe)              \
  X(kimi_linear)            \
  X(gemma4)                 \
  X(gemma3n)                \
  X(internlm2)              \
  X(gpt2)                   \
  X(gpt_bigcode)            \
  X(gpt_neox)               \
  X(openelm)                \
  X(mamba)                  \
  X(mamba2)                 \
  X(jamba)                  \
  X(granitemoehybrid)       \
  X(nemotron_h_moe)         \
  X(nemotron_h)             \
  X(falcon_h1)              \
  X(rwkv7)                  \
  X(bailing_moe)            \
  X(bailing_moe_v2)         \
  X(dots1)                  \
  X(deepseek)               \
  X(minimax)                \
  X(ernie4_5_moe)           \
  X(hunyuan_moe)            \
  X(dbrx)                   \
  X(mellum)                 \
  X(exaone_moe)             \
  X(afmoe)                  \
  X(phimoe)                 \
  X(mimo_v2_flash)          \
  X(llama4)                 \
  X(lfm2)                   \
  X(lfm2_moe)               \
  X(qwen2_vl)               \
  X(qwen3_vl)               \
  X(qwen3_vl_moe)           \
  /* new ones go above this line */

namespace modelutils::arch {

#define MU_DECLARE_FAMILY(name) extern const Family name;
MU_ARCH_FAMILIES(MU_DECLARE_FAMILY)
#undef MU_DECLARE_FAMILY

}  // namespace modelutils::arch
