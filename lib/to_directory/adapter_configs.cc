#include "to_directory/adapter_configs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "arch/names.h"
#include "hf/tensor_names.h"
#include "json/writer.h"

namespace modelutils::to_directory {

namespace {

// Returns the most common value of `of` among the modules.
template <typename Of>
auto most_common(const std::vector<PlannedModule>& modules, Of of) {
  std::map<decltype(of(modules.front())), u64> votes;
  for (const PlannedModule& module : modules) ++votes[of(module)];
  return std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; })->first;
}

}  // namespace

u64 AdapterConfigFacts::largest_rank() const {
  return std::ranges::max_element(modules, {}, &PlannedModule::rank)->rank;
}

double AdapterConfigFacts::common_scale() const {
  return most_common(modules, [](const PlannedModule& module) { return module.scale; });
}

std::string peft_adapter_config(const AdapterConfigFacts& facts) {
  const u64 rank = most_common(facts.modules, [](const PlannedModule& module) { return module.rank; });
  const double alpha = most_common(facts.modules, [](const PlannedModule& module) { return module.alpha(); });
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    out.member("peft_type", "LORA");
    out.member("task_type", "CAUSAL_LM");
    out.text_or_null("base_model_name_or_path", facts.base_model);
    out.member("r", rank);
    out.member("lora_alpha", alpha);
    out.member("lora_dropout", 0.0);
    out.member("bias", "none");
    out.member("fan_in_fan_out", false);
    out.member("use_rslora", false);
    out.member("use_dora", false);
    if (facts.ties_head) out.member("ensure_weight_tying", true);
    out.member("inference_mode", true);
    {
      const auto in_target_modules = out.array("target_modules");
      for (const PlannedModule& each : facts.modules) out.string(each.module->name);
    }
    {
      const auto in_rank_pattern = out.object("rank_pattern");
      for (const PlannedModule& each : facts.modules) {
        if (each.rank != rank) out.member(each.module->name, each.rank);
      }
    }
    {
      const auto in_alpha_pattern = out.object("alpha_pattern");
      for (const PlannedModule& each : facts.modules) {
        if (each.alpha() != alpha) out.member(each.module->name, each.alpha());
      }
    }
    if (!facts.invocation_tokens.empty()) {
      out.values("alora_invocation_tokens", facts.invocation_tokens);
    }
  }
  return out.text() + "\n";
}

std::string mlx_adapter_config(const AdapterConfigFacts& facts, const adapter::Base& base) {
  u64 layers = 0;                 // layers that mlx-lm adapts, counted from the last
  std::vector<std::string> keys;  // module names below the layer, without repeats
  const u64 all = base.sizes.get(arch::symbol::layers);
  const arch::Names names(*base.family);
  for (const PlannedModule& each : facts.modules) {
    const std::string& name = each.module->name;
    const auto layer = names.layer_of(hf::canonical_name(name) + ".weight");
    const std::string number = fmt::format(".{}.", layer.value_or(0));
    const std::size_t at = name.find(number);
    if (!layer || at == std::string::npos) continue;
    layers = std::max(layers, all - std::min(all, *layer));
    const std::string key = name.substr(at + number.size());
    if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  }
  json::Writer out(json::Writer::Style::pretty);
  {
    const auto in_object = out.object();
    out.member("fine_tune_type", "lora");
    if (!facts.base_model.empty()) out.member("model", facts.base_model);
    out.member("num_layers", layers);
    const auto in_lora_parameters = out.object("lora_parameters");
    out.member("rank", facts.largest_rank());
    out.member("scale", facts.common_scale());
    out.member("dropout", 0.0);
    out.values("keys", keys);
  }
  return out.text() + "\n";
}

}  // namespace modelutils::to_directory
