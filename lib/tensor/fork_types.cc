#include "tensor/fork_types.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

constexpr std::string_view interleaved =
    "its rows are interleaved for the CPU: get the file of the same name without _R4, _R8 or _R16, which ik_llama.cpp "
    "interleaves while loading (-rtr)";
constexpr std::string_view use_q4_0 = "use a Q4_0 file, which llama.cpp repacks while loading";
constexpr std::string_view use_iq4_nl = "use an IQ4_NL file, which llama.cpp repacks while loading";
constexpr std::string_view make_again = "for llama.cpp, get another quantisation or make one from the original model";

// clang-format off
constexpr ForkType ik_types[] = {
    // id, name, elements, bytes, per row, per tensor
    {133, "Q6_0", 32, 26}, {134, "IQ1_BN", 64, 13, 2}, {135, "IQ2_BN", 64, 16, 4}, {137, "IQ2_K", 256, 76},
    {138, "IQ3_K", 256, 110}, {139, "IQ4_K", 256, 144}, {140, "IQ5_K", 256, 176}, {141, "IQ6_K", 256, 212},
    {144, "IQ4_KS", 256, 136, 4}, {145, "IQ2_KS", 256, 70, 2}, {146, "IQ4_KSS", 256, 128, 4},
    {152, "IQ5_KS", 256, 168, 4}, {153, "IQ2_KT", 256, 68, 4}, {154, "IQ3_KT", 256, 100, 4},
    {155, "IQ4_KT", 256, 128, 4}, {156, "IQ3_KS", 256, 102, 2}, {157, "IQ2_KL", 256, 86, 2},
    {158, "IQ1_KT", 256, 56, 4},
    // Interleaved: sizes of the plain types, except IQ1_S_R4, IQ1_M_R4 and Q8_K_R8.
    {202, "Q4_0_R8", 32, 18, 0, 0, interleaved}, {206, "Q5_0_R4", 32, 22, 0, 0, interleaved},
    {208, "Q8_0_R8", 32, 34, 0, 0, interleaved}, {210, "Q2_K_R4", 256, 84, 0, 0, interleaved},
    {211, "Q3_K_R4", 256, 110, 0, 0, interleaved}, {212, "Q4_K_R4", 256, 144, 0, 0, interleaved},
    {213, "Q5_K_R4", 256, 176, 0, 0, interleaved}, {214, "Q6_K_R4", 256, 210, 0, 0, interleaved},
    {216, "IQ2_XXS_R4", 256, 66, 0, 0, interleaved}, {217, "IQ2_XS_R4", 256, 74, 0, 0, interleaved},
    {218, "IQ3_XXS_R4", 256, 98, 0, 0, interleaved}, {219, "IQ1_S_R4", 32, 6, 2, 0, interleaved},
    {220, "IQ4_NL_R4", 32, 18, 0, 0, interleaved}, {221, "IQ3_S_R4", 256, 110, 0, 0, interleaved},
    {222, "IQ2_S_R4", 256, 82, 0, 0, interleaved}, {223, "IQ4_XS_R8", 256, 136, 0, 0, interleaved},
    {229, "IQ1_M_R4", 32, 7, 2, 0, interleaved}, {230, "BF16_R16", 1, 2, 0, 0, interleaved},
    {233, "Q6_0_R4", 32, 26, 0, 0, interleaved}, {335, "IQ2_BN_R4", 64, 16, 4, 0, interleaved},
    {337, "IQ2_K_R4", 256, 76, 0, 0, interleaved}, {338, "IQ3_K_R4", 256, 110, 0, 0, interleaved},
    {339, "IQ4_K_R4", 256, 144, 0, 0, interleaved}, {340, "IQ5_K_R4", 256, 176, 0, 0, interleaved},
    {344, "IQ4_KS_R4", 256, 136, 4, 0, interleaved}, {352, "IQ5_KS_R4", 256, 168, 4, 0, interleaved},
    {399, "Q8_K_R8", 256, 258, 0, 0, interleaved},
};
constexpr ForkType ik_old_types[] = {{142, "IQ2_TN", 256, 66}, {143, "IQ1_TN", 256, 54}};
constexpr ForkType prism_types[] = {{142, "PQ2_0", 128, 34}, {143, "PTQ1_0", 128, 28}};
constexpr ForkType prism_old_types[] = {{42, "Q2_0 in blocks of 128", 128, 34}};
constexpr ForkType rocm_types[] = {
    {100, "Q4_0_ROCMFP4", 32, 18}, {101, "Q4_0_ROCMFP4_FAST", 32, 17}, {102, "Q6_0_ROCMFPX", 32, 26},
    {103, "Q8_0_ROCMFPX", 32, 33}, {104, "Q3_0_ROCMFPX", 32, 14}, {107, "Q2_0_ROCMFPX", 32, 10},
    {108, "Q4_0_ROCMI4", 32, 17}, {109, "type 109"}, {110, "Q7_0_ROCMFPX", 256, 240},
};
constexpr ForkType turbo_types[] = {{46, "TQ3_1S", 32, 16}, {47, "TQ4_1S", 32, 20}};
constexpr ForkType turbo_tag_types[] = {{45, "TQ3_1S", 32, 16}, {46, "TQ4_1S", 32, 20}};
constexpr ForkType turbo_tan_types[] = {{44, "TQ3_1S", 32, 16}, {46, "TQ3_4S", 32, 16}};
// The sizes of the lookup tables depend on the machine that the file was made for.
constexpr ForkType bitnet_types[] = {{36, "I2_S", 4, 1, 0, 32}, {37, "I8_S"}, {38, "TL1"}};
constexpr ForkType removed_types[] = {
    {4, "Q4_2"}, {5, "Q4_3"},
    {31, "Q4_0_4_4", 32, 18, 0, 0, use_q4_0}, {32, "Q4_0_4_8", 32, 18, 0, 0, use_q4_0},
    {33, "Q4_0_8_8", 32, 18, 0, 0, use_q4_0}, {36, "IQ4_NL_4_4", 32, 18, 0, 0, use_iq4_nl},
    {37, "IQ4_NL_4_8", 32, 18, 0, 0, use_iq4_nl}, {38, "IQ4_NL_8_8", 32, 18, 0, 0, use_iq4_nl},
};

constexpr Fork ik = {"ik_llama.cpp", "ikawrakow/ik_llama.cpp", "8337e4c", ik_types, make_again};
constexpr Fork forks[] = {
    ik,
    {"ik_llama.cpp until October 2024", "ikawrakow/ik_llama.cpp", "4a5d5e2", ik_old_types, make_again, &ik},
    {"PrismML's llama.cpp", "PrismML-Eng/llama.cpp", "4767e5d", prism_types,
     "PrismML's release of the same model as Q2_0 of ggml (64 weights in a block), if there is one, runs in llama.cpp"},
    {"PrismML's llama.cpp before July 2026", "PrismML-Eng/llama.cpp", "4767e5d", prism_old_types,
     "ggml's Q2_0 has the same id and other blocks: get the file again, newer ones have a type of their own or ggml's "
     "Q2_0"},
    {"ROCmFPX", "ROCmFPX/ROCmFPX", "16e37c0, 1201ad0", rocm_types, make_again},
    {"TurboQuant", "TheTom/llama-cpp-turboquant", "00910b1", turbo_types, make_again},
    {"TurboQuant tqp-v0.1", "TheTom/llama-cpp-turboquant", "tqp-v0.1", turbo_tag_types, make_again},
    {"llama.cpp-tq3", "turbo-tan/llama.cpp-tq3", "0471010", turbo_tan_types, make_again},
    {"BitNet", "microsoft/BitNet", "16da220", bitnet_types,
     "for llama.cpp, convert the original model to TQ1_0 or TQ2_0"},
    {"removed from ggml", "ggml-org/llama.cpp", "", removed_types, make_again},
};
// clang-format on

}  // namespace

const ForkType* Fork::find(u32 id) const {
  const auto found = std::ranges::find(types, id, &ForkType::id);
  if (found != types.end()) return &*found;
  return extended == nullptr ? nullptr : extended->find(id);
}

std::span<const Fork> all_forks() {
  return forks;
}

std::optional<u64> fork_tensor_bytes(const ForkType& type, std::span<const u64> ne) {
  const u64 columns = ne.empty() ? 1 : ne.front();
  if (type.elements == 0 || columns % type.elements != 0) return std::nullopt;
  const auto blocks = checked_mul(columns / type.elements, u64{type.bytes});
  std::optional<u64> size = blocks ? checked_add(*blocks, u64{type.row_bytes}) : std::nullopt;
  for (const u64 dim : ne.empty() ? ne : ne.subspan(1)) size = size ? checked_mul(*size, dim) : std::nullopt;
  size = size ? checked_add(*size, u64{type.tensor_bytes}) : std::nullopt;
  if (!size || *size > u64{INT64_MAX} || !element_count(ne)) return std::nullopt;
  return size;
}

std::string fork_type_text(const ForkType& type, const Fork& fork) {
  return fmt::format("{} ({})", type.name, fork.name);
}

std::string_view advice_for(const ForkType& type, const Fork& fork) {
  return type.advice.empty() ? fork.advice : type.advice;
}

}  // namespace modelutils
