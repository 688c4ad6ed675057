#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "arch/families.h"
#include "arch/names.h"
#include "base/text.h"
#include "edit/safetensors/edited_set.h"
#include "formats/hf/names.h"
#include "model/adapter/pairs.h"
#include "rules/safetensors/rules.h"

namespace modelutils::to_safetensors {

namespace {

using adapter::Adapter;
using adapter::Module;

// Maps the modules of an adapter to the tensors of the directory, which have the same rows in the same order. Unlike
// adapter::map_pairs(), which maps them to those of a GGUF.
class DirectPairs {
 public:
  explicit DirectPairs(const EditedSet& set) : set_(set), catalog_(set.model.catalog()) {
    for (std::size_t i = 0; i < catalog_.tensors.size(); ++i) {
      const Tensor& tensor = catalog_.tensors[i];
      const Weight* weight = set.model.weights().of_codes(tensor);
      const std::string name = weight != nullptr ? weight->name : hf::canonical_name(tensor.name);
      by_name_.emplace(name, i);
    }
    note_transposed();
    const hf::Config* config = set.model.config();
    family_ = config == nullptr ? nullptr : arch::find_family(*config);
    if (family_ == nullptr) return;
    names_ = std::make_unique<arch::Names>(*family_);
    for (const auto& [name, place] : by_name_) {
      if (const auto key = row_of(name)) by_row_.emplace(*key, place);
    }
  }

  Result<adapter::MappedAdapter> map(Adapter& adapter) {
    MU_TRY(settle_experts(adapter));
    split_gates(adapter);
    adapter::MappedAdapter mapped;
    for (std::size_t i = 0; i < adapter.modules.size(); ++i) {
      MU_TRY(add_pairs(adapter, i, mapped.pairs));
    }
    for (std::size_t i = 0; i < adapter.extras.size(); ++i) {
      if (adapter.extras[i].kind != adapter::Extra::Kind::saved) continue;
      MU_ASSIGN(adapter::Saved saved, saved_of(adapter, i));
      mapped.saved.push_back(std::move(saved));
    }
    return mapped;
  }

 private:
  std::span<const u64> ne_of(std::size_t place) const { return set_.model.ne_of(catalog_.tensors[place]); }

  // Splits an adapter's "experts.gate_up_proj" in two if the model has separate gate and up matrices.
  void split_gates(Adapter& adapter) const {
    std::vector<Module> modules;
    for (Module& module : adapter.modules) {
      constexpr std::string_view both = "gate_up_proj";
      if (module.a.stack < 2 || !module.name.ends_with(both) || find(module.name) || module.b.rows % 2 != 0) {
        modules.push_back(std::move(module));
        continue;
      }
      module.name.resize(module.name.size() - both.size());
      module.b.rows /= 2;
      Module up = module;
      up.name += "up_proj";
      up.b.start += up.b.rows * up.b.row_stride;
      module.name += "gate_proj";
      modules.push_back(std::move(module));
      modules.push_back(std::move(up));
    }
    adapter.modules = std::move(modules);
  }

  // Conv1D modules store their matrices as [in, out]. The length of the bias tells the two orders apart unless the
  // matrix is square. A model has either Conv1D or Linear modules, so the other matrices decide for a square one.
  void note_transposed() {
    i64 matrices = 0, stacks = 0;  // transposed ones minus others
    for (const auto& [name, place] : by_name_) {
      constexpr std::string_view ending = ".weight";
      const std::span<const u64> ne = ne_of(place);
      const bool is_matrix = ne.size() == 2 && name.ends_with(ending), is_stack = ne.size() == 3;
      if ((!is_matrix && !is_stack) || ne[0] == ne[1]) continue;
      const auto bias =
          by_name_.find(is_stack ? name + "_bias" : name.substr(0, name.size() - ending.size()) + ".bias");
      if (bias == by_name_.end() || ne_of(bias->second).size() != ne.size() - 1) continue;
      const u64 length = ne_of(bias->second).front();
      (is_stack ? stacks : matrices) += length == ne[0] ? 1 : length == ne[1] ? -1 : 0;
    }
    is_transposed_ = matrices > 0;
    has_transposed_stacks_ = stacks > 0;
  }

  Status settle_experts(Adapter& adapter) const {
    if (family_ == nullptr) return {};
    const hf::Config* config = set_.model.config();
    arch::Sizes sizes;
    const auto state = [&](std::string_view symbol, std::string_view fields) {
      if (const auto value = config->count_field(fields)) sizes.set(symbol, *value);
    };
    state(arch::symbol::embedding, hf::fields::width);
    state(arch::symbol::experts, hf::fields::experts);
    state(arch::symbol::expert_ff, "moe_intermediate_size|expert_ffn_hidden_size|intermediate_size");
    state(arch::symbol::feed_forward, hf::fields::feed_forward);
    return resolve_expert_parameters(adapter, *names_, sizes);
  }

  // The row of the family that a tensor makes alone, and its layer: the same for all spellings of a name, such as an
  // expert's and that of the stack of all experts.
  using Row = std::tuple<const arch::Tensor*, u64, std::size_t>;
  std::optional<Row> row_of(std::string_view canonical) const {
    const auto match = names_ == nullptr ? std::nullopt : names_->match(canonical);
    if (!match || match->uses->empty()) return std::nullopt;
    const arch::SourceUse& first = match->uses->front();
    const bool is_one = std::ranges::all_of(*match->uses, [&](const arch::SourceUse& use) {
      return use.row == first.row && use.part == first.part && use.side == arch::Side::weight;
    });
    return is_one ? std::optional(Row(first.row, match->layer.value_or(0), first.part)) : std::nullopt;
  }

  // Returns the place of a module's weight, or of a parameter without a suffix; nullopt if there is none.
  std::optional<std::size_t> find(const std::string& module) const {
    const std::string canonical = hf::canonical_name(module);
    for (const std::string& name : {canonical + ".weight", canonical}) {
      if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    }
    // The family has one row for a stack of experts and for each expert in it.
    constexpr std::string_view experts = ".experts.";
    const std::size_t at = canonical.find(experts);
    for (const bool is_stack : {false, true}) {
      if (is_stack && at == std::string::npos) break;
      std::string name = canonical + ".weight";
      if (is_stack) name.insert(at + experts.size(), "0.");
      const auto row = row_of(name);
      if (const auto found = row ? by_row_.find(*row) : by_row_.end(); found != by_row_.end()) return found->second;
    }
    return std::nullopt;
  }

  tl::unexpected<Error> refuse(const Adapter& adapter, std::string code, std::string message,
                               std::string_view module) const {
    return input_error(std::move(code), std::move(message), at_module(module), {}, adapter.path);
  }

  Status add_pairs(const Adapter& adapter, std::size_t number, std::vector<adapter::Pair>& pairs) const {
    const Module& module = adapter.modules[number];
    const std::optional<std::size_t> place = find(module.name);
    if (!place && module.a.stack > 1) return add_experts(adapter, number, pairs);
    if (!place) return refuse(adapter, "adapter-target", "the model has no such module", module.name);
    if (const auto expert = expert_of(module.name); expert && ne_of(*place).size() == 3) {
      return add_expert(adapter, number, *place, *expert, pairs);
    }
    MU_ASSIGN(adapter::Pair pair, pair_of(adapter, number, *place));
    pairs.push_back(std::move(pair));
    return {};
  }

  std::optional<u64> expert_of(const std::string& module) const {
    const auto match = names_ == nullptr ? std::nullopt : names_->match(hf::canonical_name(module) + ".weight");
    return match ? match->expert : std::nullopt;
  }

  // One expert's module, whose matrix is in a stack in the model. The experts of a stack share a pair.
  Status add_expert(const Adapter& adapter, std::size_t number, std::size_t place, u64 expert,
                    std::vector<adapter::Pair>& pairs) const {
    const Module& module = adapter.modules[number];
    const std::span<const u64> ne = ne_of(place);
    if (ne[0] != module.a.columns || ne[1] != module.b.rows || expert >= ne[2]) {
      return refuse(adapter, "adapter-pair", "has other sizes than the model's experts", module.name);
    }
    const std::string name(catalog_.tensors[place].name);
    auto pair = std::ranges::find(pairs, name, &adapter::Pair::name);
    if (pair == pairs.end()) {
      pairs.emplace_back().name = name;
      pair = pairs.end() - 1;
      pair->ne = {ne.begin(), ne.end()};
    }
    pair->rank = std::max(pair->rank, module.rank());
    adapter::RowUse use;
    use.view = arch::whole_view(ne[1]);
    use.first_row = expert * ne[1];
    pair->blocks.push_back({number, pair->uses.size(), expert, 0, 0});
    pair->uses.push_back(std::move(use));
    return {};
  }

  // A stack of experts whose matrices are separate in the model: "mlp.experts.up_proj" for "mlp.experts.3.up_proj".
  Status add_experts(const Adapter& adapter, std::size_t number, std::vector<adapter::Pair>& pairs) const {
    const Module& module = adapter.modules[number];
    const std::size_t dot = module.name.rfind('.');
    for (u64 expert = 0; expert < module.a.stack && dot != std::string::npos; ++expert) {
      const auto place = find(fmt::format("{}.{}{}", module.name.substr(0, dot), expert, module.name.substr(dot)));
      const std::span<const u64> ne = place ? ne_of(*place) : std::span<const u64>();
      if (!place) return refuse(adapter, "adapter-target", "the model has no such module", module.name);
      if (ne.size() != 2 || ne[0] != module.a.columns || ne[1] != module.b.rows) {
        return refuse(adapter, "adapter-pair", "has other sizes than the model's experts", module.name);
      }
      adapter::Pair pair;
      pair.name = catalog_.tensors[*place].name;
      pair.ne = {ne.begin(), ne.end()};
      pair.rank = module.rank();
      adapter::RowUse use;
      use.view = arch::run_of_rows(expert * module.b.rows, module.b.rows, module.a.stack * module.b.rows);
      pair.uses.push_back(std::move(use));
      pair.blocks.push_back({number, 0, 0, expert, 0});
      pairs.push_back(std::move(pair));
    }
    return {};
  }

  Result<adapter::Pair> pair_of(const Adapter& adapter, std::size_t number, std::size_t place) const {
    const Module& module = adapter.modules[number];
    MU_TRY(check_tied(adapter, module));
    const std::span<const u64> ne = ne_of(place);
    const u64 stack = std::max<u64>(module.a.stack, 1);
    const u64 in = module.a.columns, out = module.b.rows;
    const u64 slices = ne.size() > 2 ? checked_product(ne.subspan(2)).value_or(0) : 1;
    adapter::Pair pair;
    pair.name = catalog_.tensors[place].name;
    pair.ne = {ne.begin(), ne.end()};
    pair.rank = module.rank();
    const bool fits = ne.size() >= 2 && ne.size() <= 3 && slices == stack && ne[0] == in && ne[1] == out;
    const bool fits_transposed = ne.size() >= 2 && ne.size() <= 3 && slices == stack && ne[0] == out && ne[1] == in;
    const bool prefers_transposed = slices > 1 ? has_transposed_stacks_ : is_transposed_;
    adapter::RowUse use;
    if (fits && !(fits_transposed && prefers_transposed)) {
      use.view = arch::whole_view(out * slices);
    } else if (fits_transposed) {
      // Element (i, j) is the module's element (j, i).
      use.view = {0, {{slices, in * out}, {in, 1}, {out, in}}, slices * in * out};
      use.by_element = true;
      use.is_product = false;
    } else {
      return refuse(adapter, "adapter-pair",
                    fmt::format("is a product of {} × {}{}, but {} has the shape {}", in, out,
                                stack > 1 ? fmt::format(" × {}", stack) : "", pair.name, shape_text(pair.ne)),
                    module.name);
    }
    pair.uses.push_back(std::move(use));
    for (u64 slice = 0; slice < slices; ++slice) pair.blocks.push_back({number, 0, slice, slice, 0});
    return pair;
  }

  // PEFT changes only the embedding and leaves the head unchanged, but a tied model has one tensor for both.
  Status check_tied(const Adapter& adapter, const Module& module) const {
    const std::string name = hf::canonical_name(module.name);
    const bool is_embedding = name.ends_with("embed_tokens") || name.ends_with("wte");
    const bool has_head = by_name_.count("lm_head.weight") != 0 || by_name_.count("output.weight") != 0;
    if (!is_embedding || has_head || adapter.ties_head) return {};
    return refuse(adapter, "adapter-tied",
                  "changes the embedding of a model with a tied output head: PEFT would leave the head unchanged, but "
                  "a directory has one tensor for both",
                  module.name);
  }

  Result<adapter::Saved> saved_of(const Adapter& adapter, std::size_t number) const {
    const adapter::Extra& extra = adapter.extras[number];
    const auto found = by_name_.find(hf::canonical_name(extra.name));
    if (found == by_name_.end()) {
      return refuse(adapter, "adapter-target", "the model has no such tensor", extra.name);
    }
    const std::span<const u64> ne = ne_of(found->second);
    const u64 rows = ne.size() < 2 ? 1 : checked_product(ne.subspan(1)).value_or(0);
    const u64 columns = ne.empty() ? 1 : ne.front();
    if (extra.values.columns != columns || extra.values.rows * std::max<u64>(extra.values.stack, 1) != rows) {
      return refuse(adapter, "adapter-pair",
                    fmt::format("has the shape {} × {}, but the model's tensor {}", extra.values.columns,
                                extra.values.rows, shape_text({ne.begin(), ne.end()})),
                    extra.name);
    }
    adapter::Saved saved;
    saved.extra = number;
    saved.name = catalog_.tensors[found->second].name;
    saved.use.view = arch::whole_view(rows);
    return saved;
  }

  const EditedSet& set_;
  const Catalog& catalog_;
  std::map<std::string, std::size_t> by_name_;
  const arch::Family* family_ = nullptr;
  std::unique_ptr<const arch::Names> names_;
  std::map<Row, std::size_t> by_row_;
  bool is_transposed_ = false;          // matrices are [in, out]
  bool has_transposed_stacks_ = false;  // so are the matrices of experts
};

// Reads the base's rows, before any adapter.
adapter::ReadBase reader_of(const EditedSet& set, const Tensor& tensor) {
  const Model* model = &set.model;
  const Tensor* source = &tensor;
  return [model, source](u64 first, u64, std::span<float> values) -> Status {
    const std::span<const u64> ne = model->ne_of(*source);
    return model->values_of(*source).read_values(first * (ne.empty() ? 1 : ne.front()), values);
  };
}

}  // namespace

Status merge_adapters(EditedSet& set, const std::vector<adapter::Wanted>& wanted) {
  DirectPairs pairs(set);
  std::vector<std::shared_ptr<adapter::Mapped>> all;
  for (const adapter::Wanted& each : wanted) {
    auto mapped = std::make_shared<adapter::Mapped>();
    mapped->scale = each.scale;
    MU_ASSIGN(mapped->adapter, open_adapter(each.directory));
    MU_ASSIGN(mapped->map, pairs.map(mapped->adapter));
    all.push_back(std::move(mapped));
  }
  const adapter::Merges merges = adapter::merges_of(all);
  for (EditedTensor& tensor : set.tensors) {
    const Tensor& source = set.source(tensor);
    const auto merge = merges.find(std::string(source.name));
    if (merge == merges.end()) continue;
    if (tensor.decoded == nullptr && (!is_castable(*source.type) || set.followers.is_quantized(tensor.origin))) {
      return input_error("adapter-merge",
                         "is quantised: a merged weight has other values, so name their type with --dequantize TYPE",
                         at_tensor(source.name));
    }
    tensor.merge = merge->second;
    tensor.merge->set_base(reader_of(set, source));
  }
  return {};
}

}  // namespace modelutils::to_safetensors
