#include "arch/config_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "arch/key_writer.h"
#include "base/error.h"
#include "base/types.h"
#include "formats/gguf/parse.h"

namespace modelutils::arch {

namespace {

// Limit for a vector of rope factors. Published models have at most 128 per head.
constexpr u64 longest_vector = 65536;

}  // namespace

ConfigWriter::ConfigWriter(const Family& family, const gguf::SplitSet& set, const gguf::Index& index,
                           const Sizes& sizes)
    : family_(family), set_(set), index_(index), sizes_(sizes) {
  for (const gguf::SetFile& file : set_.files) {
    for (const gguf::TensorInfo& info : file.document.tensors) tensors_.emplace(info.name, Located{&file, &info});
  }
}

template <typename T>
Result<std::vector<T>> ConfigWriter::numbers(std::string_view key) const {
  const gguf::ArrayRef* array = index_.array_value(index_.arch_key(key));
  if (array == nullptr || gguf::value_size(array->element_type) == 0) return std::vector<T>();
  const gguf::SetFile& file = set_.files.front();
  return gguf::read_numbers<T>(*file.source, file.document, *array, 0, max_layers);
}
Result<std::vector<u64>> ConfigWriter::counts(std::string_view key) const {
  return numbers<u64>(key);
}
Result<std::vector<i64>> ConfigWriter::integers(std::string_view key) const {
  return numbers<i64>(key);
}
Result<std::vector<float>> ConfigWriter::reals(std::string_view key) const {
  MU_ASSIGN(const std::vector<double> found, numbers<double>(key));
  return std::vector<float>(found.begin(), found.end());
}

Result<std::vector<std::string>> ConfigWriter::texts(std::string_view key) const {
  const gguf::ArrayRef* array = index_.array_value(index_.arch_key(key));
  if (array == nullptr || array->element_type != gguf::ValueType::string) return std::vector<std::string>();
  const gguf::SetFile& file = set_.files.front();
  return gguf::read_strings(*file.source, file.document, *array);
}

bool ConfigWriter::has_in_layer(u64 layer, std::string_view name) const {
  return has_tensor(fmt::format("blk.{}.{}", layer, name));
}

bool ConfigWriter::has_in_layers(std::string_view name) const {
  for (u64 layer = 0; layer < size(symbol::layers); ++layer) {
    if (has_in_layer(layer, name)) return true;
  }
  return false;
}

std::vector<u64> ConfigWriter::shape(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? std::vector<u64>() : found->second.info->ne;
}

Result<std::optional<std::vector<float>>> ConfigWriter::values(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return std::nullopt;
  const gguf::TensorInfo& info = *found->second.info;
  const gguf::SetFile& file = *found->second.file;
  const std::optional<u64> elements = info.elements();
  if (info.type() != TensorType::F32 || !elements || *elements > longest_vector) {
    return input_error("config-tensor", fmt::format("is not a vector of at most {} F32 values", longest_vector),
                       at_tensor(name), {}, file.path);
  }
  const std::optional<u64> offset = checked_add(file.document.data_offset, info.offset);
  if (!offset) return input_error("config-tensor", "lies outside the file", at_tensor(name), {}, file.path);
  std::vector<float> floats(static_cast<std::size_t>(*elements));
  MU_TRY(file.source->read_exact(*offset, std::as_writable_bytes(std::span(floats))));
  return floats;
}

bool ConfigWriter::spells(std::string_view field) const {
  return has_name(family_.config.fields, field);
}

std::string_view ConfigWriter::spelled(std::string_view fields) const {
  std::string_view found = first_name(fields);
  bool is_found = false;
  for_each_name(fields, [&](std::string_view field) {
    if (is_found || !spells(field)) return;
    found = field;
    is_found = true;
  });
  return found;
}

void ConfigWriter::set(std::string_view member, hf::ConfigValue value) {
  std::erase(assumed, member);
  hf::set_member(members, member, std::move(value));
}

void ConfigWriter::assume(std::string_view member, hf::ConfigValue value) {
  if (has(member)) return;
  hf::set_member(members, member, std::move(value));
  assumed.emplace_back(member);
}

std::optional<hf::ConfigValue> ConfigWriter::take(std::string_view member) {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const hf::ConfigMember& one) { return one.name == member; });
  if (found == members.end()) return std::nullopt;
  hf::ConfigValue value = std::move(found->value);
  members.erase(found);
  return value;
}

tl::unexpected<Error> ConfigWriter::refuse(std::string_view key, std::string message) const {
  return input_error("config-key", std::move(message), at_key(index_.arch_key(key)), {}, set_.files.front().path);
}

namespace {

class RowReader {
 public:
  explicit RowReader(ConfigWriter& out) : out_(out) {}

  Status read(const Key& key) {
    if (key.read != nullptr) return key.read(out_, key);
    if (key.fields.empty() || !holds(key.when, out_.sizes())) return {};
    switch (key.type) {
      case KeyType::u32:
      case KeyType::u32_of_some:
      case KeyType::u32_or_layers:
      case KeyType::u32_where_used: read_count(key); break;
      case KeyType::f32:
        if (std::isnan(out_.real(key.name).value_or(0))) return out_.refuse(key.name, "is NaN");
        read_real(key);
        break;
      case KeyType::flag: read_flag(key); break;
      default: break;  // another row's function reads it
    }
    return {};
  }

 private:
  void read_count(const Key& key) {
    const std::string_view field = out_.spelled(key.fields);
    const std::vector<u64> values = key.symbol.empty() ? stated(key) : out_.sizes().values(key.symbol);
    if (values.size() == 1) return out_.set(field, values.front());
    if (values.size() > 1) {
      // Other rows show which layers have the value, so config.json holds a single number.
      const u64 most = *std::max_element(values.begin(), values.end());
      const bool is_one = std::all_of(values.begin(), values.end(), [&](u64 one) { return one == 0 || one == most; });
      if (is_one || key.derive_layers != nullptr) return out_.set(field, most);
      return out_.set(field, hf::config_list(values));
    }
    if (const auto value = evaluate(key.fallback, out_.sizes())) out_.assume(field, *value);
  }

  std::vector<u64> stated(const Key& key) const {
    const std::optional<u64> value = out_.count(key.name);
    return value ? std::vector<u64>{*value} : std::vector<u64>();
  }

  void read_real(const Key& key) {
    const std::string_view field = out_.spelled(key.fields);
    if (const auto value = out_.real(key.name)) return out_.set(field, *value);
    if (const auto value = decimal_of(key.loader_default)) return out_.set(field, *value);
    if (const auto value = decimal_of(key.fallback)) out_.assume(field, *value);
  }

  void read_flag(const Key& key) {
    const std::string_view field = out_.spelled(key.fields);
    if (const auto value = out_.flag(key.name)) return out_.set(field, *value);
    if (!key.fallback.empty()) out_.assume(field, key.fallback == "true");
  }

  ConfigWriter& out_;
};

void write_fixed(ConfigWriter& out) {
  for (const Fixed& fixed : out.family().fixed) {
    // The tensors' row order decides rope_traditional; a row's own function writes partial_rotary_factor.
    const bool is_of_rope = fixed.field == "rope_traditional" || fixed.field == "partial_rotary_factor";
    if (is_of_rope || fixed.value.empty() || !holds(fixed.when, out.sizes()) || out.has(fixed.field)) continue;
    const hf::ConfigValue value = hf::config_value_of(first_name(fixed.value));
    if (fixed.severity == Severity::error) {
      out.set(fixed.field, value);
    } else {
      out.assume(fixed.field, value);
    }
  }
}

void write_members(ConfigWriter& out) {
  for (const Member& member : out.family().config.members) {
    if (!holds(member.when, out.sizes())) continue;
    if (member.value.starts_with('@')) {
      out.set(member.field, out.has_in_layers(member.value.substr(1)));
    } else if (member.value.starts_with('=')) {
      if (const auto value = evaluate(member.value.substr(1), out.sizes())) out.set(member.field, *value);
    } else if (!member.when.empty()) {
      out.set(member.field, hf::config_value_of(member.value));
    } else {
      out.assume(member.field, hf::config_value_of(member.value));
    }
  }
}

void write_activation(ConfigWriter& out) {
  constexpr std::string_view names =
      "hidden_act|hidden_activation|activation_function|activation_fn_name|activation_type|mlp_hidden_act";
  bool is_written = false;
  for_each_name(names, [&](std::string_view name) { is_written |= out.has(name); });
  if (is_written) return;
  for_each_name(names, [&](std::string_view name) {
    if (!out.spells(name)) return;
    out.set(name, out.family().activation);
    is_written = true;
  });
  if (!is_written) out.set("hidden_act", out.family().activation);
}

}  // namespace

Status write_config_members(ConfigWriter& out) {
  RowReader rows(out);
  for (const Key* key : keys_of(out.family())) MU_TRY(rows.read(*key));
  write_fixed(out);
  write_members(out);
  write_activation(out);
  return out.family().config.describe == nullptr ? Status{} : out.family().config.describe(out);
}

}  // namespace modelutils::arch
