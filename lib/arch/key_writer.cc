#include "arch/key_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "arch/geometry.h"
#include "arch/layer_kinds.h"
#include "base/parse_number.h"
#include "base/types.h"
#include "json/reader.h"

namespace modelutils::arch {

std::string KeyWriter::key(std::string_view name) const {
  if (name.starts_with("tokenizer.")) return std::string(name);
  return fmt::format("{}.{}", family_.gguf, name);
}

Status KeyWriter::count(std::string_view name, u64 value) {
  const std::optional<u32> narrow = checked_cast<u32>(value);
  if (!narrow) {
    return input_error("convert-config", fmt::format("is {}, which does not fit in 32 bits", value), at_key(key(name)),
                       {}, config_.path);
  }
  keys.push_back(gguf::make_key(key(name), *narrow));
  return {};
}

Status KeyWriter::counts(std::string_view name, const std::vector<u64>& values) {
  std::vector<i32> narrow;
  for (const u64 value : values) {
    const std::optional<i32> one = checked_cast<i32>(value);
    if (!one) {
      return input_error("convert-config", fmt::format("has {}, which does not fit in 32 bits", value),
                         at_key(key(name)), {}, config_.path);
    }
    narrow.push_back(*one);
  }
  keys.push_back(gguf::make_key_i32s(key(name), narrow));
  return {};
}

Status KeyWriter::count_or_layers(std::string_view name, const std::vector<u64>& values) {
  return values.size() == 1 ? count(name, values.front()) : counts(name, values);
}

void KeyWriter::integers(std::string_view name, const std::vector<i32>& values) {
  keys.push_back(gguf::make_key_i32s(key(name), values));
}

Status KeyWriter::real(std::string_view name, double value) {
  const float narrow = static_cast<float>(value);
  if (!std::isfinite(narrow)) {
    return input_error("convert-config", fmt::format("is {}, which is not a finite float32", value), at_key(key(name)),
                       {}, config_.path);
  }
  keys.push_back(gguf::make_key_f32(key(name), narrow));
  return {};
}

void KeyWriter::flag(std::string_view name, bool value) {
  keys.push_back(gguf::make_key_bool(key(name), value));
}

void KeyWriter::flags(std::string_view name, const std::vector<bool>& values) {
  keys.push_back(gguf::make_key_bools(key(name), values));
}

void KeyWriter::reals(std::string_view name, const std::vector<float>& values) {
  keys.push_back(gguf::make_key_f32s(key(name), values));
}

void KeyWriter::text(std::string_view name, std::string_view value) {
  keys.push_back(gguf::make_key_string(key(name), value));
}

void KeyWriter::texts(std::string_view name, const std::vector<std::string>& values) {
  keys.push_back(gguf::make_key_strings(key(name), values));
}

void KeyWriter::remark(Severity severity, std::string_view field, std::string message) {
  remarks.add(severity, Scope::model, "convert-remark", std::move(message), std::string(field));
}

tl::unexpected<Error> KeyWriter::refuse(std::string_view field, std::string message) const {
  return input_error("convert-config", std::move(message), std::string(field), {}, config_.path);
}

std::optional<double> decimal_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = number_from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

namespace {

// Returns the number on which all layers that have one agree; nullopt if they do not agree.
std::optional<u64> number_where_used(const std::vector<u64>& values) {
  const u64 most = *std::max_element(values.begin(), values.end());
  const bool agree = std::all_of(values.begin(), values.end(), [&](u64 value) { return value == 0 || value == most; });
  return agree ? std::optional(most) : std::nullopt;
}

class RowWriter {
 public:
  explicit RowWriter(KeyWriter& out) : out_(out) {}

  Status write(const Key& key) {
    if (!holds(key.when, out_.sizes())) return {};
    if (key.write != nullptr) return key.write(out_, key);
    switch (key.type) {
      case KeyType::u32:
      case KeyType::u32_of_some:
      case KeyType::u32_or_layers:
      case KeyType::u32_where_used: return write_count(key);
      case KeyType::f32: return write_real(key);
      case KeyType::flag: return write_flag(key);
      default: return {};  // another row's function writes it
    }
  }

 private:
  // Decides whether to write `value`, the class's default, because config.json lacks the field; records the remark that
  // the row asks for.
  Result<bool> use_fallback(const Key& key, std::string_view value) {
    const std::string_view field = first_name(key.fields);
    switch (key.missing) {
      case Missing::leave_out: return false;
      case Missing::assume: break;
      case Missing::note:
        out_.remark(Severity::note, field, fmt::format("is missing; the model class's default {} is written", value));
        break;
      case Missing::warn:
        out_.warn(field, fmt::format("is missing; the model class's default {} is written", value));
        break;
      case Missing::refuse: return out_.refuse(field, "is missing, but llama.cpp requires it");
    }
    return !key.fallback.empty();
  }

  Status write_count(const Key& key) {
    if (!key.symbol.empty()) {
      const std::vector<u64>& values = out_.sizes().values(key.symbol);
      if (values.empty()) return {};
      const std::optional<u64> one = key.type == KeyType::u32_where_used ? number_where_used(values) : std::nullopt;
      return one ? out_.count(key.name, *one) : out_.count_or_layers(key.name, values);
    }
    if (const auto stated = out_.config().count_field(key.fields)) return out_.count(key.name, *stated);
    if (key.fields.empty() && key.fallback.empty()) return {};
    const std::optional<u64> value = evaluate(key.fallback, out_.sizes());
    MU_ASSIGN(const bool use, use_fallback(key, value ? fmt::format("{}", *value) : std::string()));
    return use && value ? out_.count(key.name, *value) : Status{};
  }

  Status write_real(const Key& key) {
    if (const auto stated = out_.config().number_field(key.fields)) return out_.real(key.name, *stated);
    if (key.fields.empty() && key.fallback.empty()) return {};
    MU_ASSIGN(const bool use, use_fallback(key, key.fallback));
    const std::optional<double> value = decimal_of(key.fallback);
    return use && value ? out_.real(key.name, *value) : Status{};
  }

  Status write_flag(const Key& key) {
    const std::optional<bool> stated = out_.config().bool_field(key.fields);
    if (!stated && (key.fallback.empty() || key.missing == Missing::leave_out)) return {};
    out_.flag(key.name, stated.value_or(key.fallback == "true"));
    return {};
  }

  KeyWriter& out_;
};

// Returns a field's value as rows write it: "true", "1", "silu". Returns nullopt if it is absent or of another type.
std::optional<std::string> field_text(const hf::Config& config, std::string_view field) {
  // Rope settings may be in an object of their own, so use the normalised member.
  if (field == "partial_rotary_factor") {
    return config.partial_rotary_factor ? std::optional(fmt::format("{}", *config.partial_rotary_factor))
                                        : std::nullopt;
  }
  if (const auto flag = config.bool_field(field)) return *flag ? "true" : "false";
  if (const auto text = config.string_field(field)) return std::string(*text);
  if (const auto number = config.number_field(field)) return fmt::format("{}", *number);
  if (const auto found = config.field(field)) {
    if (json::Array list; found->get(list)) return list.size() == 0 ? "[]" : "[…]";
  }
  return std::nullopt;
}

// Visits the fixed settings to which the model has another value.
template <typename Visit>
void for_each_broken(const Family& family, const hf::Config& config, const Sizes& sizes, Visit visit) {
  for (const Fixed& fixed : family.fixed) {
    if (!holds(fixed.when, sizes)) continue;
    const std::optional<std::string> stated = field_text(config, fixed.field);
    if (stated && !has_name(fixed.value, *stated)) visit(fixed, *stated);
  }
}

Status check_activation(KeyWriter& out) {
  const std::string& stated = out.config().hidden_act;
  if (stated.empty() || has_name(out.family().activation_names, stated)) return {};
  return out.refuse("hidden_act", fmt::format("is '{}'; llama.cpp computes {} for {}", stated, out.family().activation,
                                              out.family().gguf));
}

// Writes how the vectors of tokens become one, for any family: from modules.json, or a classifier's.
Status write_pooling_type(KeyWriter& out) {
  if (out.family().gguf == "clip") return {};  // a tower merges patches; its N counts positions
  const hf::SentenceModules& modules = out.config().modules;
  u64 type = modules.is_stated ? 0 : out.family().pooling;
  if (modules.pooling) type = static_cast<u64>(*modules.pooling);
  if (out.size("N") > 0) type = static_cast<u64>(hf::Pooling::rank);
  if (!modules.prompts.empty()) {
    std::string names;
    for (const std::string& name : modules.prompts) names += (names.empty() ? "'" : ", '") + name + "'";
    out.remark(Severity::note, "prompts",
               fmt::format("has {} {}, which the model expects before texts; a GGUF cannot hold them, so clients must "
                           "add them (config_sentence_transformers.json)",
                           modules.prompts.size() == 1 ? "the prompt" : "the prompts", names));
  }
  return type > 0 ? out.count("pooling_type", type) : Status{};
}

}  // namespace

Status refuse_unsupported(const Family& family, const hf::Config& config, const Sizes& sizes) {
  Status status;
  if (const double part = config.partial_rotary_factor.value_or(1.0); !(part > 0 && part <= 1)) {
    return input_error("convert-architecture", fmt::format("is {}; it must be greater than 0 and at most 1", part),
                       "partial_rotary_factor", {}, config.path);
  }
  for_each_broken(family, config, sizes, [&](const Fixed& fixed, const std::string& stated) {
    if (fixed.severity != Severity::error || !status) return;
    status = input_error("convert-architecture", fmt::format("is {}; {}", stated, fixed.because),
                         std::string(fixed.field), {}, config.path);
  });
  return status;
}

Result<ModelKeys> write_keys(const Family& family, const hf::Config& config, const Sizes& sizes, bool is_mlx) {
  KeyWriter out(family, config, sizes, is_mlx);
  MU_TRY(check_activation(out));
  RowWriter rows(out);
  for (const Key* key : keys_of(family)) MU_TRY(rows.write(*key));
  MU_TRY(write_pooling_type(out));
  MU_TRY(leave_out_unused_window(out));
  for (const Check check : family.checks) MU_TRY(check(out));
  for_each_broken(family, config, sizes, [&](const Fixed& fixed, const std::string& stated) {
    if (fixed.severity != Severity::error)
      out.remark(fixed.severity, fixed.field, fmt::format("is {}; {}", stated, fixed.because));
  });
  return ModelKeys{std::move(out.keys), std::move(out.remarks)};
}

}  // namespace modelutils::arch
