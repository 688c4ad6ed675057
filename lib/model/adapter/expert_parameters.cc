// PEFT's pairs for three-dimensional expert parameters (target_parameters).
#include "model/adapter/pairs.h"

#include <fmt/core.h>

#include <span>

#include "base/error.h"
#include "formats/hf/names.h"

namespace modelutils::adapter {

namespace {

struct Parameter {
  std::string_view name;
  u64 in = 0;
  u64 out = 0;
};

// If a family has no such parameter, each expert has its own matrix; mlx-lm's names then stand for stacks of them.
std::vector<Module> as_parameters(const Module& pair, const std::string& experts, const Parameter& parameter,
                                  const arch::Names& names) {
  Module whole = pair;
  whole.name = experts + "." + std::string(parameter.name);
  if (names.match(hf::canonical_name(whole.name)) || names.match(hf::canonical_name(whole.name) + ".weight")) {
    return {whole};
  }
  constexpr std::string_view ending = ".experts";
  const std::string stacked = experts.substr(0, experts.size() - ending.size()) + ".switch_mlp.";
  if (parameter.name == "down_proj") {
    whole.name = stacked + "down_proj";
    return {whole};
  }
  Module gate = pair;
  gate.name = stacked + "gate_proj";
  gate.b.rows /= 2;
  Module up = gate;
  up.name = stacked + "up_proj";
  up.b.start = gate.b.rows * up.b.row_stride;
  return {gate, up};
}

// The parameter whose shape matches the pair. `is_exchanged` is true if input and output are swapped.
struct Fit {
  const Parameter* parameter = nullptr;
  bool is_exchanged = false;
  bool is_unclear = false;
};
Fit fit_of(const Module& module, std::span<const Parameter> parameters, std::optional<bool> last_axis_is_in) {
  Fit fit;
  for (const bool exchanged : {false, true}) {
    if (last_axis_is_in && *last_axis_is_in == exchanged) continue;
    for (const Parameter& parameter : parameters) {
      const u64 in = exchanged ? parameter.out : parameter.in;
      const u64 out = exchanged ? parameter.in : parameter.out;
      if (module.a.columns != in || module.b.rows != out) continue;
      fit.is_unclear = fit.parameter != nullptr;
      fit.parameter = &parameter;
      fit.is_exchanged = exchanged;
      if (fit.is_unclear) return fit;
    }
  }
  return fit;
}

}  // namespace

Status resolve_expert_parameters(Adapter& adapter, const arch::Names& names, const arch::Sizes& sizes) {
  if (adapter.origin != Origin::peft) return {};
  const u64 experts = sizes.get(arch::symbol::experts);
  std::vector<Module> modules;
  for (Module& module : adapter.modules) {
    std::string name = module.name;
    for (constexpr std::string_view nested = ".base_layer"; name.ends_with(nested);) {
      name.resize(name.size() - nested.size());
    }
    const std::string canonical = hf::canonical_name(name);
    if (!name.ends_with(".experts") || names.match(canonical + ".weight")) {
      modules.push_back(std::move(module));
      continue;
    }
    const u64 layer = names.layer_of(canonical + ".weight").value_or(0);
    u64 width = sizes.get(arch::symbol::expert_ff, layer);
    if (width == 0) width = sizes.get(arch::symbol::feed_forward, layer);
    const u64 embedding = sizes.get(arch::symbol::embedding);
    const Parameter parameters[] = {{"gate_up_proj", embedding, 2 * width}, {"down_proj", width, embedding}};
    const auto refuse = [&](std::string message) {
      return input_error("adapter-pair", std::move(message), at_tensor(module.name), {}, adapter.path);
    };
    if (experts == 0 || module.rank() % experts != 0) {
      return refuse(fmt::format("has {} factor rows, which is not a multiple of {} experts", module.rank(), experts));
    }
    const Fit fit = fit_of(module, parameters, adapter.last_axis_is_in);
    if (fit.parameter == nullptr || fit.is_unclear) {
      return refuse(fmt::format("is a product of {} × {}, which matches {} of the experts", module.a.columns,
                                module.b.rows, fit.is_unclear ? "parameters in more than one way" : "no parameter"));
    }
    const u64 rank = module.rank() / experts;
    auto scaling = adapter.scaling.of(name + "." + std::string(fit.parameter->name));
    if (!scaling) return tl::make_unexpected(in_file(std::move(scaling.error()), adapter.path));
    if (scaling->rank != static_cast<double>(rank)) {
      return input_error("adapter-config",
                         fmt::format("gives rank {} for '{}.{}', whose factors have rank {}", scaling->rank, name,
                                     fit.parameter->name, rank),
                         at_key("r"), {}, adapter.path);
    }
    module.scale = scaling->scale;
    Factor& a = module.a;
    Factor& b = module.b;
    a.stack = b.stack = experts;
    a.rows = b.columns = rank;
    a.stack_stride = rank * a.row_stride;
    b.stack_stride = b.column_stride;
    b.column_stride *= experts;
    if (fit.is_exchanged) {
      std::swap(a, b);
      for (Factor* factor : {&a, &b}) {
        std::swap(factor->rows, factor->columns);
        std::swap(factor->row_stride, factor->column_stride);
      }
    }
    for (Module& each : as_parameters(module, name, *fit.parameter, names)) modules.push_back(std::move(each));
  }
  adapter.modules = std::move(modules);
  return {};
}

}  // namespace modelutils::adapter
