#include "hf/generation_config.h"

#include <cmath>
#include <utility>

#include "hf/remarks.h"

namespace modelutils::hf {

namespace {

constexpr std::string_view file_name = "generation_config.json";

void left_out(FindingLog& findings, std::string_view key, std::string_view expected) {
  findings.warning(Scope::model, "hf-generation-config", fmt::format("is not {}: left out", expected),
                   fmt::format("{}: {}", file_name, key));
}

std::optional<float> real(json::Element root, std::string_view key, FindingLog& findings) {
  if (!json::member(root, key)) return std::nullopt;
  const auto value = json::number_member(root, key);
  const float narrow = value ? static_cast<float>(*value) : NAN;
  if (std::isfinite(narrow)) return narrow;
  left_out(findings, key, "a number that a float32 can hold");
  return std::nullopt;
}

std::optional<i32> whole(json::Element root, std::string_view key, FindingLog& findings) {
  if (!json::member(root, key)) return std::nullopt;
  const auto value = json::i64_member(root, key);
  if (value && std::in_range<i32>(*value)) return static_cast<i32>(*value);
  left_out(findings, key, "a 32-bit whole number");
  return std::nullopt;
}

}  // namespace

Result<GenerationConfig> load_generation_config(const ModelFolder& folder) {
  GenerationConfig config;
  auto document = json::load_if_present(folder, file_name);
  if (document && *document == nullptr) return config;
  const bool is_broken = !document && document.error().code.starts_with("json-");
  if (!document && !is_broken) return tl::make_unexpected(std::move(document.error()));
  if (is_broken || !(*document)->root.is_object()) {
    config.findings.warning(Scope::model, "hf-generation-config",
                            fmt::format("{}; ignored", is_broken ? document.error().message : "is not a JSON object"),
                            std::string(file_name));
    return config;
  }
  config.document = std::move(*document);
  return config;
}

Sampling read_sampling(const GenerationConfig& config, FindingLog& findings) {
  Sampling sampling;
  const auto root = config.root();
  if (!root) return sampling;
  sampling.temperature = real(*root, "temperature", findings);
  sampling.top_k = whole(*root, "top_k", findings);
  sampling.top_p = real(*root, "top_p", findings);
  sampling.min_p = real(*root, "min_p", findings);
  sampling.repetition_penalty = real(*root, "repetition_penalty", findings);
  return sampling;
}

}  // namespace modelutils::hf
