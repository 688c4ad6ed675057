#include "arch/projector_family.h"

#include <array>

#include "arch/projectors/list.h"
#include "base/text.h"

namespace modelutils::arch {

namespace {

#define MU_PROJECTOR_ADDRESS(file, family) &towers::file::packed_##family,
constexpr std::array packed_projectors = {MU_ARCH_PROJECTORS(MU_PROJECTOR_ADDRESS)};
#undef MU_PROJECTOR_ADDRESS

// Projector types that llama.cpp supports but no family here does, and classes that are not converted.
constexpr UnknownProjector unknown_projectors[] = {
    {"Step3VLForConditionalGeneration|StepVLForConditionalGeneration|Step3VL10BForCausalLM", "step3vl"},
    {"YoutuVLForConditionalGeneration", "youtuvl"},
    {"Gemma3nForConditionalGeneration", "gemma3nv"},
    {"Gemma4UnifiedForConditionalGeneration", "gemma4uv"},
    {"NemotronH_Nano_VL_V2|NemotronH_Nano_Omni_V3", "nemotron_v2_vl"},
    {"MiniMaxM3ForConditionalGeneration|MiniMaxM3VLForConditionalGeneration", "minimax_m3"},
    {"MuseGlimmerForConditionalGeneration", "muse-glimmer"},
    {"MiMoVLForConditionalGeneration|MiMoV2OmniForConditionalGeneration|MiMoV2ForCausalLM", "mimovl"},
    {"MiMoAudioForCausalLM|MiMoAudioModel", "mimo_audio"},
    {"Dots3NoteForCausalLM", "dots3note_v"},
    {"DeepseekOCR2ForCausalLM", "deepseekocr2"},
    {"DeepseekV4ForConditionalGeneration|DeepseekV4VLForCausalLM", "deepseek4v"},
    {"Lfm2AudioForConditionalGeneration|Lfm2AudioModel", "lfm2a"},
    {"GraniteSpeechForConditionalGeneration|GraniteSpeechPlusForConditionalGeneration", "granite_speech"},
    {"GlmasrModel|GlmAsrForConditionalGeneration", "glma"},
    {"MERaLiON2ForConditionalGeneration|MERaLiONForConditionalGeneration", "meralion"},
    {"Qwen3TTSForConditionalGeneration", "qwen3tts_gen"},
    {"PocketTTSModel|PocketTTSForConditionalGeneration", "pockettts_gen"},
    {"InternVLForConditionalGeneration|InternVLVisionModel|InternVLModel", "InternVL's form with the suffix -hf"},
    {"MobileLlamaForCausalLM|MobileVLMForCausalLM", "ldp"},
    {"MiniCPMV|MiniCPMO", "resampler"},
    {"GlmEdgeForConditionalGeneration", "adapter"},
    {"Yasa2ForConditionalGeneration", "yasa2"},
    {"MllamaForConditionalGeneration", "Mllama"},
    {"PaliGemmaForConditionalGeneration", "PaliGemma"},
    {"Florence2ForConditionalGeneration", "Florence"},
    {"Phi3VForCausalLM", "Phi-3-V"},
    {"Phi4MMForCausalLM", "Phi-4-MM"},
};

}  // namespace

std::span<const ProjectorFamily* const> all_projector_families() {
  static const auto all = [] {
    std::array<const ProjectorFamily*, packed_projectors.size()> families = {};
    std::ranges::transform(packed_projectors, families.begin(),
                           [](const PackedProjector* each) { return &each->unpacked(); });
    return families;
  }();
  return all;
}

std::vector<const ProjectorFamily*> find_projector_families(std::string_view hf_class, const hf::Config& config) {
  std::vector<const ProjectorFamily*> found;
  for (const PackedProjector* each : packed_projectors) {
    if (!has_name(each->names().classes, hf_class)) continue;
    const ProjectorFamily& family = each->unpacked();
    if (family.rows.fits == nullptr || family.rows.fits(config)) found.push_back(&family);
  }
  return found;
}

std::vector<const ProjectorFamily*> projector_families_of(std::string_view type, std::string_view encoder) {
  std::vector<const ProjectorFamily*> found;
  for (const PackedProjector* each : packed_projectors) {
    if (each->names().name != type) continue;
    if (const ProjectorFamily& family = each->unpacked(); family.encoder == encoder) found.push_back(&family);
  }
  return found;
}

const UnknownProjector* find_unknown_projector(std::string_view hf_class) {
  for (const UnknownProjector& each : unknown_projectors) {
    if (has_name(each.classes, hf_class)) return &each;
  }
  return nullptr;
}

}  // namespace modelutils::arch
