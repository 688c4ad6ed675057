#include "model/memory/layer_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "model/memory/hyper_parameters.h"

namespace modelutils::memory {

namespace {

constexpr u64 max_number = std::numeric_limits<u32>::max();

}  // namespace

tl::unexpected<Error> wrong(const arch::Fact& fact, std::string message) {
  return input_error("fit-key", std::move(message), at_key(fact.name));
}

Result<std::optional<u64>> find_number(const arch::Fact& fact) {
  if (!fact.is_stated()) return std::nullopt;
  if (const std::optional<bool> flag = fact.flag()) return u64{*flag};
  const std::optional<u64> value = fact.number();
  if (!value || *value > max_number) return wrong(fact, fmt::format("is not a whole number up to {}", max_number));
  return *value;
}

Result<u64> number_of(const arch::Fact& fact, u64 missing) {
  MU_ASSIGN(const std::optional<u64> value, find_number(fact));
  return value.value_or(missing);
}

Result<u64> needed_number(const arch::Fact& fact, std::string_view because) {
  MU_ASSIGN(const std::optional<u64> value, find_number(fact));
  if (value) return *value;
  return wrong(fact, because.empty() ? "is missing; the memory cannot be calculated without it"
                                     : fmt::format("is missing{}", because));
}

Result<std::optional<std::vector<u64>>> find_layers(const arch::Fact& fact, u64 count, u64 or_count) {
  const arch::LayerNumbers* list = fact.list();
  const auto size = static_cast<std::size_t>(count);
  if (list == nullptr) {
    MU_ASSIGN(const std::optional<u64> value, find_number(fact));
    if (!value) return std::nullopt;
    return std::vector<u64>(size, *value);
  }
  if (list->length != count && list->length != or_count) {
    return input_error("fit-layers",
                       fmt::format("is an array of {}, but the model has {}", list->length, counted(count, "layer")),
                       at_key(fact.name));
  }
  if (!list->is_numeric) return wrong(fact, "is not an array of numbers");
  std::vector<u64> values(size, 0);
  for (std::size_t i = 0; i < list->values.size() && i < size; ++i) {
    const i64 value = list->values[i];
    if (value < 0 || static_cast<u64>(value) > max_number) {
      return wrong(fact, fmt::format("holds {}, which is not a number from 0 to {}", value, max_number));
    }
    values[i] = static_cast<u64>(value);
  }
  return values;
}

Result<std::vector<u64>> layers_of(const arch::Fact& fact, u64 count, u64 missing) {
  MU_ASSIGN(std::optional<std::vector<u64>> values, find_layers(fact, count, count));
  return values ? std::move(*values) : std::vector<u64>(static_cast<std::size_t>(count), missing);
}

namespace {

using Rule = arch::Windows::Rule;
using Layers = arch::Recurrence::Layers;
using State = arch::Recurrence::State;

// Reads the window in tokens and sets has_windows.
Status read_width(const arch::Facts& stated, const arch::Windows& rule, HyperParameters& model) {
  const bool is_needed = rule.always && rule.missing == 0;
  if (is_needed) {
    MU_ASSIGN(model.window, needed_number(stated.window, ", but llama.cpp requires it for this architecture"));
  } else {
    MU_ASSIGN(model.window, number_of(stated.window, rule.missing));
  }
  model.has_windows = rule.always || model.window > 0;
  if (model.has_windows && rule.fixed > 0) model.window = rule.fixed;
  return {};
}

void set_period(const arch::Windows& rule, u64 period, HyperParameters& model) {
  const u64 count = rule.in_prediction_blocks ? model.blocks : model.trunk;
  for (u64 i = 0; i < count; ++i) {
    const bool slides = period == 0 || (rule.global_first ? i % period != 0 : i % period < period - 1);
    model.slides[static_cast<std::size_t>(i)] = slides;
  }
}

Status set_list(const arch::Facts& stated, HyperParameters& model) {
  MU_ASSIGN(const auto list, find_layers(stated.window_pattern, model.blocks, model.trunk));
  if (!list) return wrong(stated.window_pattern, "is missing; it says which layers have a sliding window");
  std::transform(list->begin(), list->end(), model.slides.begin(), [](u64 flag) { return flag != 0; });
  return {};
}

// Returns the size of a convolution's rolling state: the last kernel - 1 tokens.
Amount convolution(u64 kernel, u64 inner, u64 groups, u64 state) {
  return Amount(kernel > 0 ? kernel - 1 : 0) * (Amount(inner) + Amount(2) * groups * state);
}

}  // namespace

Status read_windows(const arch::Facts& stated, HyperParameters& model) {
  const arch::Windows& rule = model.facts->windows;
  model.slides.assign(static_cast<std::size_t>(model.blocks), false);
  if (rule.rule == Rule::none || (rule.only_with_layers != 0 && rule.only_with_layers != model.trunk)) return {};
  MU_TRY(read_width(stated, rule, model));
  if (!model.has_windows) return {};
  switch (rule.rule) {
    case Rule::none: break;
    case Rule::all: model.slides.assign(model.slides.size(), true); break;
    case Rule::attention:
      std::transform(model.kv_heads.begin(), model.kv_heads.end(), model.slides.begin(),
                     [](u64 heads) { return heads > 0; });
      break;
    case Rule::list: return set_list(stated, model);
    case Rule::number_or_list:
      if (stated.window_pattern.list() != nullptr) return set_list(stated, model);
      {
        const std::string_view why = "; it says which layers have a sliding window";
        MU_ASSIGN(const u64 period, rule.period > 0 ? number_of(stated.window_pattern, rule.period)
                                                    : needed_number(stated.window_pattern, why));
        set_period(rule, period, model);
      }
      break;
    case Rule::period:
      // Measured cache sizes ignore flags here (docs/memory.md).
      if (stated.window_pattern.list() != nullptr) {
        set_period(rule, rule.period, model);
      } else {
        MU_ASSIGN(const u64 period, number_of(stated.window_pattern, rule.period));
        set_period(rule, period, model);
      }
      break;
  }
  return {};
}

namespace {

Status mark_recurrent_layers(const arch::Facts& stated, HyperParameters& model) {
  const arch::Recurrence& rule = model.facts->recurrence;
  const auto mark = [&](auto&& is_recurrent) {
    for (std::size_t i = 0; i < model.trunk; ++i) model.is_recurrent[i] = is_recurrent(i);
  };
  switch (rule.layers) {
    case Layers::none: break;
    case Layers::all: mark([](std::size_t) { return true; }); break;
    case Layers::without_kv_heads: mark([&](std::size_t i) { return model.kv_heads[i] == 0; }); break;
    case Layers::without_kv_heads_and_feed_forward:
      mark([&](std::size_t i) { return model.kv_heads[i] == 0 && model.feed_forward[i] == 0; });
      break;
    case Layers::listed: {
      MU_ASSIGN(const auto list, find_layers(stated.recurrent_layers, model.blocks, model.blocks));
      MU_ASSIGN(const u64 interval, number_of(stated.attention_every, rule.interval));
      if (!list && interval == 0) return wrong(stated.attention_every, "is 0, it must be at least 1");
      mark([&](std::size_t i) { return list ? (*list)[i] != 0 : (i + 1) % interval != 0; });
      break;
    }
  }
  return {};
}

// Returns the sizes R (rolling state) and Z (recurrent state) of docs/memory.md.
Result<std::pair<Amount, Amount>> state_sizes(const arch::Facts& stated, const HyperParameters& model) {
  const Amount heads = model.heads.front();
  switch (model.facts->recurrence.state) {
    case State::none: break;
    case State::convolution:
    case State::ungrouped_convolution: {
      MU_ASSIGN(const u64 kernel, needed_number(stated.ssm_kernel));
      MU_ASSIGN(const u64 inner, needed_number(stated.ssm_width));
      MU_ASSIGN(const u64 state, needed_number(stated.ssm_state));
      u64 groups = 0;
      if (model.facts->recurrence.state == State::convolution) {
        MU_ASSIGN(groups, number_of(stated.ssm_groups, 0));
      }
      return std::pair(convolution(kernel, inner, groups, state), Amount(state) * inner);
    }
    case State::token_shift: {
      MU_ASSIGN(const u64 shifts, number_of(stated.token_shifts, 2));
      MU_ASSIGN(const u64 head, needed_number(stated.wkv_head));
      return std::pair(Amount(shifts) * model.embedding, Amount(model.embedding) * head);
    }
    case State::short_convolution: {
      MU_ASSIGN(const u64 cached, needed_number(stated.convolution_length));
      if (cached == 0) return wrong(stated.convolution_length, "is 0, it must be at least 1");
      return std::pair(Amount(model.embedding) * (cached - 1), Amount(0));
    }
    case State::delta: {
      MU_ASSIGN(const u64 head, needed_number(stated.delta_head));
      MU_ASSIGN(const u64 kernel, number_of(stated.ssm_kernel, 0));
      return std::pair(Amount(3) * (kernel > 0 ? kernel - 1 : 3) * heads * head, Amount(head) * head * heads);
    }
    case State::linear_attention: return std::pair(Amount(0), Amount(model.key_length) * model.key_length * heads);
  }
  return std::pair(Amount(0), Amount(0));
}

// Returns the width of the widest vector that a recurrent layer computes.
Result<u64> width_of_state(const arch::Facts& stated, const HyperParameters& model) {
  MU_ASSIGN(const u64 inner, number_of(stated.ssm_width, 0));
  MU_ASSIGN(const u64 groups, number_of(stated.ssm_groups, 0));
  MU_ASSIGN(const u64 state, number_of(stated.ssm_state, 0));
  MU_ASSIGN(const u64 head, number_of(stated.delta_head, 0));
  const u64 heads = *std::ranges::max_element(model.heads);
  const Amount width = max(max(Amount(inner) + Amount(2) * groups * state, Amount(3) * heads * head), model.embedding);
  if (width.value()) return *width.value();
  return input_error("fit-too-large", "the state of a recurrent layer exceeds 2^64 bytes", "ssm.*");
}

}  // namespace

Status read_recurrence(const arch::Facts& stated, HyperParameters& model) {
  model.is_recurrent.assign(static_cast<std::size_t>(model.blocks), false);
  MU_TRY(mark_recurrent_layers(stated, model));
  if (std::ranges::none_of(model.is_recurrent, [](bool is) { return is; })) return {};
  MU_ASSIGN(const auto sizes, state_sizes(stated, model));
  const std::optional<u64> rolling = sizes.first.value();
  const std::optional<u64> state = sizes.second.value();
  if (!rolling || !state) {
    return input_error("fit-too-large", "the state of a recurrent layer exceeds 2^64 numbers",
                       Place{"architecture", model.architecture});
  }
  model.rolling = *rolling;
  model.state = *state;
  MU_ASSIGN(model.state_width, width_of_state(stated, model));
  return {};
}

Status read_indexer(const arch::Facts& stated, HyperParameters& model) {
  const arch::Indexer rule = model.facts->indexer;
  model.has_indexer.assign(static_cast<std::size_t>(model.blocks), false);
  model.compression.assign(static_cast<std::size_t>(model.blocks), 0);
  if (rule == arch::Indexer::none) return {};
  MU_ASSIGN(model.indexer_key, needed_number(stated.indexer_key_length));
  MU_ASSIGN(model.indexer_heads, number_of(stated.indexer_heads, 0));
  const auto mark = [&](auto&& has_indexer) {
    for (std::size_t i = 0; i < model.trunk; ++i) model.has_indexer[i] = has_indexer(i);
  };
  switch (rule) {
    case arch::Indexer::none: break;
    case arch::Indexer::every_layer: mark([](std::size_t) { return true; }); break;
    case arch::Indexer::with_keys: mark([&](std::size_t i) { return !model.is_recurrent[i]; }); break;
    case arch::Indexer::behind_dense: {
      MU_ASSIGN(const u64 dense, number_of(stated.leading_dense_layers, 0));
      mark([&](std::size_t i) { return i >= dense; });
      break;
    }
    case arch::Indexer::listed: {
      MU_ASSIGN(const auto types, find_layers(stated.indexer_types, model.trunk, model.blocks));
      if (types) {
        mark([&](std::size_t i) { return (*types)[i] != 0; });
        break;
      }
      // In files without the key, models with a context of a million tokens share each indexer among four layers; other
      // models have one per layer.
      constexpr u64 long_context = 1048576;
      MU_ASSIGN(const u64 context, needed_number(stated.context));
      mark([&](std::size_t i) { return context < long_context || i < 2 || i % 4 == 2; });
      break;
    }
    case arch::Indexer::compressed: {
      MU_ASSIGN(const auto ratios, find_layers(stated.compress_ratios, model.blocks, model.blocks));
      if (!ratios) return wrong(stated.compress_ratios, "is missing; it says what each layer caches");
      model.compression = *ratios;
      MU_ASSIGN(model.hyper_connections, number_of(stated.hyper_connections, 0));
      break;
    }
  }
  return {};
}

}  // namespace modelutils::memory
