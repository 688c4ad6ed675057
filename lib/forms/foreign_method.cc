#include "forms/foreign_method.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "json/reader.h"

namespace modelutils {

namespace {

constexpr std::array<std::string_view, 10> known_methods = {
    "fp8", "fbgemm_fp8", "modelopt",   "modelopt_fp4", "compressed-tensors",
    "awq", "gptq",       "auto-round", "auto_round",   "intel/auto-round"};

// [rows, columns]
void read_block(const std::optional<json::Array>& block, ForeignMethod& method) {
  uint64_t rows = 0, columns = 0;
  if (!block || block->size() != 2 || !block->at(0)->get(rows) || !block->at(1)->get(columns)) return;
  if (rows == 0 || columns == 0) return;
  method.block_rows = rows;
  method.block_columns = columns;
}

// compressed-tensors: config_groups.NAME.weights.
void read_groups(json::Element settings, ForeignMethod& method) {
  const auto groups = json::object_member(settings, "config_groups");
  if (!groups) return;
  for (const auto& [name, group] : *groups) {
    const auto weights = json::member(group, "weights");
    if (!weights) continue;
    if (const auto bits = json::u64_member(*weights, "num_bits")) method.bits.push_back(*bits);
    if (method.group_size == 0) method.group_size = json::u64_member(*weights, "group_size").value_or(0);
    read_block(json::array_member(*weights, "block_structure"), method);
  }
}

std::string refusal_of(json::Element settings) {
  const std::string_view format = json::string_member(settings, "format").value_or("");
  if (format == "marlin-24" || format.starts_with("sparse")) return fmt::format("weights in the format '{}'", format);
  if (const auto transform = json::object_member(settings, "transform_config"); transform && transform->size() > 0) {
    return "weights that a transform has changed (transform_config)";
  }
  const std::string_view version = json::string_member(settings, "version").value_or("");
  if (version == "marlin" || version == "gemv_fast") return fmt::format("AWQ weights in the layout '{}'", version);
  const std::string_view algorithm = json::string_member(settings, "quant_algo").value_or("");
  if (algorithm.find("AWQ") != algorithm.npos) return fmt::format("weights of '{}'", algorithm);
  return {};
}

}  // namespace

ForeignMethod read_foreign_method(const hf::Config& config, std::string name) {
  ForeignMethod method;
  method.name = std::move(name);
  method.is_known = std::ranges::find(known_methods, method.name) != known_methods.end();
  if (!method.is_known || !config.quantization_config) return method;
  const json::Element settings = *config.quantization_config;
  method.group_size = json::u64_member(settings, "group_size").value_or(0);  // -1: one group
  if (const auto bits = json::u64_member(settings, "bits")) method.bits.push_back(*bits);
  method.is_gptq_v2 = json::string_member(settings, "checkpoint_format") == "gptq_v2";
  method.is_symmetric = json::bool_member(settings, "sym").value_or(false);
  read_block(json::array_member(settings, "weight_block_size"), method);
  read_groups(settings, method);
  method.refusal = refusal_of(settings);
  return method;
}

}  // namespace modelutils
