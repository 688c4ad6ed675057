#include "convert/to_directory/adapter_modules.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "arch/loader_forms.h"
#include "arch/names.h"
#include "base/error.h"
#include "base/types.h"
#include "convert/to_directory/config_from_keys.h"
#include "formats/hf/names.h"
#include "json/writer.h"
#include "tensor/dequantize.h"
#include "tensor/types.h"

namespace modelutils::to_directory {

namespace {

// Finds the modules in the directory that the pairs change. adapter::map_pairs() then gives the order of their rows.
class ModuleMapper {
 public:
  ModuleMapper(const adapter::GgufAdapter& pairs, const adapter::Base& base, DirectoryStyle style)
      : pairs_(pairs), base_(base), names_(*base.family), directory_(*base.family, style), style_(style) {
    sizes_ = base.sizes;
    sizes_.set("mlx", style == DirectoryStyle::mlx ? 1 : 0);
    sizes_.set("hf", style == DirectoryStyle::mlx ? 0 : 1);
    sizes_.set("back", 0);
  }

  Result<std::vector<AdapterModule>> find() {
    const std::vector<arch::ExpectedTensor> expected = arch::expected_tensors(*base_.family, sizes_);
    std::map<std::string_view, const arch::ExpectedTensor*> by_name;
    for (const arch::ExpectedTensor& each : expected) by_name.emplace(each.name, &each);
    for (const adapter::GgufPair& pair : pairs_.pairs) {
      const auto found = by_name.find(pair.target);
      if (found == by_name.end()) {
        return fail(pair, "adapter-target",
                    fmt::format("changes a tensor that the base, a {}, does not have", base_.family->name));
      }
      MU_TRY(add(pair, *found->second));
    }
    return std::move(modules_);
  }

 private:
  tl::unexpected<Error> fail(const adapter::GgufPair& pair, std::string code, std::string message) const {
    return input_error(std::move(code), std::move(message), at_tensor(pair.a->name), pair.a->info_offset);
  }

  Status add(const adapter::GgufPair& pair, const arch::ExpectedTensor& expected) {
    std::vector<u64> own = {pair.columns(), pair.rows()};
    if (pair.slices() > 1) own.push_back(pair.slices());
    if (!is_same_shape(own, expected.ne)) {
      return fail(
          pair, "adapter-pair",
          fmt::format("is for a tensor of {}, but the base has one of {}", shape_text(own), shape_text(expected.ne)));
    }
    const arch::SourceAlternative* alternative = choose(*expected.row, expected.layer);
    if (alternative == nullptr) return fail(pair, "adapter-pair", "is on a tensor that has no name in a directory");
    for (const arch::SourcePart& part : alternative->parts) {
      const u64 copies = part.is_stacked() ? pair.slices() : 1;
      for (u64 number = 0; number < copies; ++number) MU_TRY(add_part(pair, expected, part, number, copies));
    }
    return {};
  }

  // Returns the first alternative whose condition holds. For Hugging Face names, prefers alternatives that are not
  // MLX's own.
  const arch::SourceAlternative* choose(const arch::Tensor& row, u64 layer) const {
    const arch::SourceAlternative* first = nullptr;
    for (const arch::SourceAlternative& alternative : names_.alternatives(row)) {
      if (!arch::holds(alternative.condition, sizes_, layer)) continue;
      if (first == nullptr) first = &alternative;
      if (style_ == DirectoryStyle::mlx || !arch::is_name_of_mlx(alternative.parts.front().module)) return &alternative;
    }
    return first;
  }

  Status add_part(const adapter::GgufPair& pair, const arch::ExpectedTensor& expected, const arch::SourcePart& part,
                  u64 number, u64 copies) {
    AdapterModule module;
    module.name = directory_.published(directory_.of_part(expected, part, number));
    constexpr std::string_view suffix = ".weight";
    if (module.name.ends_with(suffix)) module.name.resize(module.name.size() - suffix.size());
    module.in = pair.columns();
    module.stack = part.is_stacked() ? 1 : pair.slices();
    module.is_embedding = pair.is_embedding();
    u64 rows = pair.rows() * pair.slices() / copies;
    if (!part.view.empty() && !part.is_of_elements) {
      const auto view = arch::resolve_view(part.view, sizes_, expected.layer);
      if (!view) return fail(pair, "adapter-pair", "has a layout that cannot be derived from the base's sizes");
      rows = view->source_rows;
    }
    module.out = rows / module.stack;
    if (is_known_.insert(module.name).second) modules_.push_back(std::move(module));
    return {};
  }

  const adapter::GgufAdapter& pairs_;
  const adapter::Base& base_;
  arch::Names names_;
  PublishedNames directory_;
  DirectoryStyle style_;
  arch::Sizes sizes_;
  std::set<std::string> is_known_;
  std::vector<AdapterModule> modules_;
};

bool is_zero(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return value == 0; });
}

// Returns the rows of B that a piece contributes to its module, as pairs: row in the tensor's slice, row in the module.
std::vector<std::pair<u64, u64>> rows_of(const AdapterModule& module, const AdapterModule::Piece& piece, u64 rows) {
  std::vector<std::pair<u64, u64>> moved;
  const adapter::RowUse& use = *piece.use;
  const u64 of_view = use.by_element ? use.rows.size() : use.view.rows();
  for (u64 i = 0; i < rows; ++i) {
    const u64 row = piece.slice * rows + i;
    if (row < use.first_row || row - use.first_row >= of_view) continue;
    const u64 at = row - use.first_row;
    const u64 from = use.by_element ? use.rows[static_cast<std::size_t>(at)] : use.view.source_row(at);
    if (!use.by_element && from / module.out != piece.source_slice) continue;
    moved.emplace_back(i, from % module.out);
  }
  return moved;
}

}  // namespace

Result<AdapterModules> AdapterModules::map(const adapter::GgufAdapter& pairs, const Catalog& catalog,
                                           const adapter::Base& base, DirectoryStyle style) {
  AdapterModules result;
  result.pairs_ = &pairs;
  result.catalog_ = &catalog;
  ModuleMapper mapper(pairs, base, style);
  MU_ASSIGN(result.modules_, mapper.find());
  adapter::Adapter stand_in;
  stand_in.origin = style == DirectoryStyle::mlx ? adapter::Origin::mlx_lm : adapter::Origin::peft;
  stand_in.ties_head = true;  // only names and row order matter
  for (const AdapterModule& module : result.modules_) {
    adapter::Module& made = stand_in.modules.emplace_back();
    made.name = module.name;
    made.a.rows = made.b.columns = 1;
    made.a.columns = module.in;
    made.b.rows = module.out;
    made.a.stack = made.b.stack = module.stack;
  }
  auto mapped = adapter::map_pairs(stand_in, base, true);
  if (!mapped) return tl::make_unexpected(std::move(mapped.error()));
  result.mapped_ = std::make_shared<adapter::MappedAdapter>(std::move(*mapped));
  std::map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < pairs.pairs.size(); ++i) numbers.emplace(pairs.pairs[i].target, i);
  for (const adapter::Pair& pair : result.mapped_->pairs) {
    const auto number = numbers.find(pair.name);
    if (number == numbers.end()) continue;  // another part of a module, for which the file has no pair
    for (const adapter::Block& block : pair.blocks) {
      const adapter::RowUse& use = pair.uses[block.use];
      if (use.by_element && !use.is_product) {
        return input_error("adapter-pair", "is on a tensor whose elements have another order in a directory",
                           at_tensor(pair.name));
      }
      const auto others = std::ranges::count(pair.blocks, block.slice, &adapter::Block::slice);
      result.modules_[block.module].pieces.push_back(
          {number->second, block.slice, block.source_slice, &use, others > 1});
    }
  }
  return result;
}

Result<AdapterModules::Half> AdapterModules::read_pair(std::size_t number) const {
  const adapter::GgufPair& pair = pairs_->pairs[number];
  const auto values = [&](const gguf::TensorInfo& info) -> Result<std::vector<float>> {
    const Tensor* tensor = catalog_->find(info.name);
    if (tensor == nullptr || !tensor->type || !adapter::may_be_factor(*tensor->type) || catalog_->big_endian) {
      return input_error("adapter-tensor", "has a type that factors cannot have, or lies outside the file",
                         at_tensor(info.name), info.info_offset);
    }
    std::vector<std::byte> stored(static_cast<std::size_t>(tensor->bytes));
    MU_TRY(catalog_->read(*tensor, 0, stored));
    std::vector<float> out(static_cast<std::size_t>(element_count(tensor->ne).value_or(0)));
    dequantize(*tensor->type, stored, out);
    MU_TRY(adapter::check_finite(out, info.name));
    return out;
  };
  Half half;
  MU_ASSIGN(half.a, values(*pair.a));
  MU_ASSIGN(half.b, values(*pair.b));
  if (!pair.is_embedding()) return half;
  // lora_a {r, rows} is B, and lora_b {r, columns} is A transposed.
  const auto rank = static_cast<std::size_t>(pair.rank());
  std::vector<float> a(half.b.size());
  for (std::size_t j = 0; j < a.size() / rank; ++j) {
    for (std::size_t k = 0; k < rank; ++k) a[k * (a.size() / rank) + j] = half.b[j * rank + k];
  }
  half.b = std::move(half.a);
  half.a = std::move(a);
  return half;
}

Result<ModuleFactors> AdapterModules::read(const AdapterModule& module) const {
  ModuleFactors factors;
  factors.stack.resize(static_cast<std::size_t>(module.stack));
  const std::size_t in = static_cast<std::size_t>(module.in);
  const std::size_t out = static_cast<std::size_t>(module.out);
  // B transposed, [rank, out], so that ranks can be appended.
  std::vector<std::vector<float>> b_columns(factors.stack.size());
  std::optional<double> scale;
  std::optional<std::size_t> number;
  Half half;
  for (const AdapterModule::Piece& piece : module.pieces) {
    const adapter::GgufPair& pair = pairs_->pairs[piece.pair];
    if (number != piece.pair) {
      MU_ASSIGN(half, read_pair(piece.pair));
      number = piece.pair;
    }
    if (!scale) scale = pairs_->scale_of(pair);
    const auto factor = static_cast<float>(pairs_->scale_of(pair) / *scale);
    const auto rank = static_cast<std::size_t>(pair.rank());
    const std::vector<std::pair<u64, u64>> rows = rows_of(module, piece, pair.rows());
    std::vector<float> a, columns;  // [rank, in], [rank, out]
    for (std::size_t k = 0; k < rank; ++k) {
      const float* from = half.a.data() + (static_cast<std::size_t>(piece.slice) * rank + k) * in;
      std::vector<float> row(in), column(out);
      for (std::size_t j = 0; j < in; ++j) {
        row[piece.use->by_element ? static_cast<std::size_t>(piece.use->columns[j]) : j] = from[j];
      }
      for (const auto& [own, target] : rows) {
        const u64 at = (piece.slice * pair.rows() + own) * rank + k;
        column[static_cast<std::size_t>(target)] = half.b[static_cast<std::size_t>(at)] * factor;
      }
      const bool is_filling = module.stack == 1 && is_zero(column) && (piece.is_shared || is_zero(row));
      if (is_filling) continue;
      a.insert(a.end(), row.begin(), row.end());
      columns.insert(columns.end(), column.begin(), column.end());
    }
    MatrixFactors& matrix = factors.stack[static_cast<std::size_t>(piece.source_slice)];
    std::vector<float>& taken = b_columns[static_cast<std::size_t>(piece.source_slice)];
    if (matrix.a == a) {  // another part of the same matrix
      for (std::size_t i = 0; i < columns.size(); ++i) taken[i] += columns[i];
      continue;
    }
    matrix.a.insert(matrix.a.end(), a.begin(), a.end());
    taken.insert(taken.end(), columns.begin(), columns.end());
  }
  for (const MatrixFactors& matrix : factors.stack) factors.rank = std::max<u64>(factors.rank, matrix.a.size() / in);
  const auto rank = static_cast<std::size_t>(factors.rank);
  for (std::size_t s = 0; s < factors.stack.size(); ++s) {
    MatrixFactors& matrix = factors.stack[s];
    matrix.a.resize(rank * in);
    matrix.b.resize(out * rank);
    for (std::size_t k = 0; k < b_columns[s].size() / out; ++k) {
      for (std::size_t i = 0; i < out; ++i) matrix.b[i * rank + k] = b_columns[s][k * out + i];
    }
  }
  factors.scale = scale.value_or(1);
  return factors;
}

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
