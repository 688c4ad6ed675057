// The list of families. Each line names the file in this folder, which is also the namespace, and the variable of the
// family in it. A new family needs a file and a line here. Among families that share a class, the first that fits is
// used.
#pragma once

#include "arch/packed_family.h"

#define MU_ARCH_FAMILIES(X)             \
  X(llama, llama)                       \
  X(mixtral, mixtral)                   \
  X(qwen2, qwen2)                       \
  X(qwen2moe, qwen2moe)                 \
  X(qwen3, qwen3)                       \
  X(qwen3, qwen3moe)                    \
  X(gemma, gemma)                       \
  X(gemma, gemma2)                      \
  X(gemma, gemma3)                      \
  X(phi3, phi3)                         \
  X(glm4_moe, glm4_moe)                 \
  X(gpt_oss, gpt_oss)                   \
  X(glm4, glm4)                         \
  X(glm4, glm)                          \
  X(glm4, glm_ocr)                      \
  X(glm4, glm4v)                        \
  X(glm4_moe, glm4v_moe)                \
  X(smollm3, smollm3)                   \
  X(ministral3, ministral3)             \
  X(olmo2, olmo3)                       \
  X(olmo2, olmo2)                       \
  X(olmoe, olmoe)                       \
  X(granite, granite)                   \
  X(granite, granitemoe)                \
  X(qwen2, mimo)                        \
  X(cohere, cohere)                     \
  X(cohere, cohere2)                    \
  X(starcoder2, starcoder2)             \
  X(stablelm, stablelm)                 \
  X(minicpm, minicpm)                   \
  X(ernie4_5, ernie4_5)                 \
  X(ernie4_5, paddleocr)                \
  X(exaone, exaone)                     \
  X(exaone4, exaone4)                   \
  X(seed_oss, seed_oss)                 \
  X(nemotron, nemotron)                 \
  X(apertus, apertus)                   \
  X(phi, phi)                           \
  X(qwen, qwen)                         \
  X(olmo, olmo)                         \
  X(plamo, plamo)                       \
  X(hunyuan_dense, hunyuan_dense)       \
  X(hunyuan_dense, hunyuan_vl)          \
  X(deepseek2, youtu)                   \
  X(deepseek, deepseek_ocr)             \
  X(deepseek2, glm4_moe_lite)           \
  X(deepseek2, deepseek_v3)             \
  X(deepseek2, deepseek_v2)             \
  X(minicpm3, minicpm3)                 \
  X(qwen3next, qwen3next)               \
  X(qwen3next, qwen35)                  \
  X(qwen3next, qwen35moe)               \
  X(kimi_k3, kimi_k3)                   \
  X(kimi_linear, kimi_linear)           \
  X(gemma4, gemma4)                     \
  X(gemma3n, gemma3n)                   \
  X(internlm2, internlm2)               \
  X(gpt2, gpt2)                         \
  X(gpt2, gpt_bigcode)                  \
  X(gpt_neox, gpt_neox)                 \
  X(openelm, openelm)                   \
  X(mamba, mamba)                       \
  X(mamba, mamba2)                      \
  X(jamba, jamba)                       \
  X(granitemoehybrid, granitemoehybrid) \
  X(nemotron_h, nemotron_h_moe)         \
  X(nemotron_h, nemotron_h)             \
  X(falcon_h1, falcon_h1)               \
  X(rwkv7, rwkv7)                       \
  X(bailing_moe, bailing_moe)           \
  X(bailing_moe, bailing_moe_v2)        \
  X(dots1, dots1)                       \
  X(deepseek, deepseek)                 \
  X(minimax, minimax)                   \
  X(ernie4_5_moe, ernie4_5_moe)         \
  X(hunyuan_moe, hunyuan_moe)           \
  X(dbrx, dbrx)                         \
  X(mellum, mellum)                     \
  X(exaone_moe, exaone_moe)             \
  X(afmoe, afmoe)                       \
  X(phimoe, phimoe)                     \
  X(mimo_v2_flash, mimo_v2_flash)       \
  X(llama4, llama4)                     \
  X(lfm2, lfm2)                         \
  X(lfm2, lfm2_moe)                     \
  X(qwen_vl, qwen2_vl)                  \
  X(qwen_vl, qwen3_vl)                  \
  X(qwen_vl, qwen3_vl_moe)              \
  X(plamo2, plamo2)                     \
  X(deepseek32, deepseek_v32)           \
  X(deepseek32, glm_moe_dsa)            \
  X(deci, deci)                         \
  X(step35, step35)                     \
  X(laguna, laguna)                     \
  X(jina_bert, jina_bert_v3)            \
  X(bert, distilbert)                   \
  X(bert, bert)                         \
  X(nomic_bert, nomic_bert)             \
  X(nomic_bert, nomic_bert_moe)         \
  X(modern_bert, modern_bert)           \
  X(neo_bert, neo_bert)                 \
  X(eurobert, eurobert)                 \
  X(eurobert, llama_embed)              \
  X(jina_bert, jina_bert_v2)            \
  X(gemma, gemma_embedding)             \
  X(t5, t5encoder)                      \
  X(t5, t5)                             \
  X(falcon, falcon)                     \
  X(bloom, bloom)                       \
  X(mpt, mpt)                           \
  X(orion, orion)                       \
  X(arcee, arcee)                       \
  X(nanbeige, nanbeige)                 \
  X(chatglm, chatglm)                   \
  X(baichuan, baichuan)                 \
  X(cohere2moe, cohere2moe)             \
  X(hy_v3, hy_v3)                       \
  X(minimax_m3, minimax_m3)             \
  X(bailing_moe_v3, bailing_moe_v3)     \
  X(deepseek4, deepseek4)               \
  X(qwen4exp, qwen4exp)                 \
  X(cogvlm, cogvlm)                     \
  /* new ones go above this line */

namespace modelutils::arch {

#define MU_DECLARE_FAMILY(file, family)      \
  namespace families::file {                 \
  extern const PackedFamily packed_##family; \
  }
MU_ARCH_FAMILIES(MU_DECLARE_FAMILY)
#undef MU_DECLARE_FAMILY

}  // namespace modelutils::arch
