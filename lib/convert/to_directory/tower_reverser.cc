#include "convert/to_directory/tower_reverser.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "arch/config_writer.h"
#include "arch/geometry.h"
#include "arch/names.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/hf/config.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

// A table may begin with a row that nothing reads, so that the file lacks it. It becomes a copy of the next one.
// Returns false if the tensor lacks something else.
bool fill_first_rows(DirectoryTensor& tensor, u64 units, ProjectorBack& back) {
  if (tensor.parts.size() != 1) return false;
  const RecipePart& only = tensor.parts.front();
  const u64 missing = only.to.base;
  if (missing == 0 || units < missing || units + missing != tensor.units() || !only.from.is_run()) return false;
  tensor.parts.push_back({only.source, arch::run_of_rows(only.from.base, missing, only.from.source_rows),
                          arch::run_of_rows(0, missing, tensor.units())});
  back.assumed.push_back(tensor.name + " (its first row is not read by the model: a copy of the next)");
  return true;
}

}  // namespace

TowerReverser::TowerReverser(const arch::ProjectorFamily& family, const gguf::SplitSet& set, const gguf::Index& index,
                             const Catalog& catalog, const gguf::SplitSet& text, bool is_mlx)
    : family_(family), set_(set), index_(index), catalog_(catalog), text_(text), is_mlx_(is_mlx) {
  for (std::size_t i = 0; i < catalog.tensors.size(); ++i) by_name_.emplace(catalog.tensors[i].name, i);
}

Status TowerReverser::add_to(ProjectorBack& back, std::vector<bool>& used) {
  solve();
  std::size_t number = 0;
  for (const arch::ProjectorGroup& group : family_.groups) {
    MU_TRY(place_group(group, number++, back, used));
  }
  for (DirectoryTensor& tensor : back.tensors) {
    u64 units = tensor.values.size();
    for (const RecipePart& part : tensor.parts) units += part.units();
    if (units == tensor.units() || fill_first_rows(tensor, units, back)) continue;
    return fail("convert-reverse", tensor.name,
                fmt::format("would get only {} of its {} values from the file", units, tensor.units()));
  }
  copy_last_layers(back);
  return describe(back);
}

tl::unexpected<Error> TowerReverser::fail(std::string code, std::string_view tensor, std::string message) const {
  return input_error(std::move(code), std::move(message), at_tensor(tensor), {}, set_.files.front().path);
}

bool TowerReverser::is_text(const arch::ProjectorGroup& group) const {
  return (family_.roots.begin() + group.root)->starts_with('~');
}

// Returns the layer numbers of a group in the file, from a count, its own function or tensor names.
std::vector<u64> TowerReverser::numbers_of(const arch::ProjectorGroup& group) const {
  std::vector<u64> numbers;
  if (group.numbers == nullptr) {
    const u64 count = group.count.empty() ? 1 : arch::evaluate(group.count, sizes_).value_or(0);
    for (u64 i = 0; i < std::min(count, arch::max_layers); ++i) numbers.push_back(i);
    return numbers;
  }
  if (group.numbers_in_file != nullptr) {
    return group.numbers_in_file(arch::ConfigWriter(family_.rows, set_, index_, sizes_));
  }
  std::set<u64> found;
  const std::string_view prefix = group.gguf.substr(0, group.gguf.find('#'));
  for (const Tensor& tensor : catalog_.tensors) {
    if (const auto layer = arch::layer_name(tensor.name, prefix)) found.insert(layer->layer);
  }
  return {found.begin(), found.end()};
}

// Keys first, then shapes, then fallbacks; at the end the sizes that are only flags.
void TowerReverser::solve() {
  sizes_.set("mlx", is_mlx_ ? 1 : 0);
  sizes_.set("hf", is_mlx_ ? 0 : 1);
  sizes_.set("back", 1);
  const std::vector<const arch::Key*> keys = arch::keys_of(family_.rows);
  for (const arch::Key* key : keys) {
    if (key->symbol.empty()) continue;
    // A size without a key of its own may have one that states the same field.
    const auto named = std::ranges::find_if(keys, [&](const arch::Key* other) {
      return !other->name.empty() &&
             (other == key || (key->name.empty() && !key->fields.empty() && other->fields == key->fields));
    });
    if (named == keys.end()) continue;
    const auto value = index_.unsigned_value(fmt::format("clip.{}", (*named)->name));
    if (value && *value <= arch::largest_size(key->symbol)) sizes_.set(key->symbol, *value);
  }
  for (const arch::Key* key : keys) {
    if (key->fallback == "0" && sizes_.values(key->symbol).empty()) sizes_.set(key->symbol, flag_of(key->symbol));
  }
  solve_from_shapes();
  for (const arch::Key* key : keys) {
    if (key->symbol.empty() || !sizes_.values(key->symbol).empty()) continue;
    std::optional<u64> value;
    if (!key->fallback.empty()) {
      value = arch::evaluate(key->fallback, sizes_);
    } else if (key->derive != nullptr) {
      value = key->derive(hf::Config(), sizes_);
    }
    if (value) sizes_.set(key->symbol, *value);
    solve_from_shapes();
  }
}

// Returns the value of a flag: 1 if the file has a tensor that only towers with the flag have, or lacks the tensors
// that only other towers have.
u64 TowerReverser::flag_of(std::string_view symbol) {
  std::array<std::set<std::string>, 2> names;
  for (const u64 value : {u64{0}, u64{1}}) {
    sizes_.set(std::string(symbol), value);
    for (const arch::ProjectorGroup& group : family_.groups) {
      for (const arch::TowerTensor& tensor : arch::tower_tensors(group, 0, {0}, sizes_))
        names[value].insert(tensor.name);
    }
  }
  const auto has_one_of = [&](const std::set<std::string>& own, const std::set<std::string>& others) {
    return std::ranges::any_of(
        own, [&](const std::string& name) { return !others.contains(name) && by_name_.contains(name); });
  };
  if (has_one_of(names[1], names[0])) return 1;
  return has_one_of(names[0], names[1]) || names[0].size() < names[1].size() ? 0 : 1;
}

void TowerReverser::solve_from_shapes() {
  for (bool more = true; more;) {
    more = false;
    std::size_t number = 0;
    for (const arch::ProjectorGroup& group : family_.groups) {
      for (const arch::TowerTensor& tensor : arch::tower_tensors(group, number++, numbers_of(group), sizes_)) {
        const auto found = by_name_.find(tensor.name);
        if (found == by_name_.end() || tensor.side == arch::Side::bias) continue;
        more = solve_from(tensor, catalog_.tensors[found->second]) || more;
      }
    }
  }
}

bool TowerReverser::solve_from(const arch::TowerTensor& tensor, const Tensor& stored) {
  std::vector<std::string_view> dimensions = arch::dimensions_of(tensor.row->ne);
  std::vector<u64> ne(stored.ne.begin(), stored.ne.end());
  while (ne.size() > dimensions.size() && ne.back() == 1) ne.pop_back();
  if (ne.size() != dimensions.size()) return false;
  bool is_new = false;
  for (std::size_t d = 0; d < ne.size(); ++d) {
    const auto unknown = arch::unknown_symbols(dimensions[d], sizes_, tensor.layer);
    if (unknown.size() != 1) continue;
    const auto value = arch::solve(dimensions[d], unknown.front(), ne[d], sizes_, tensor.layer);
    if (!value || *value == 0) continue;
    sizes_.set(std::string(unknown.front()), *value);
    is_new = true;
  }
  return is_new;
}

Status TowerReverser::place_group(const arch::ProjectorGroup& group, std::size_t number, ProjectorBack& back,
                                  std::vector<bool>& used) {
  const std::vector<u64> numbers = numbers_of(group);
  const std::string root(arch::written_prefix(*(family_.roots.begin() + group.root), is_mlx_));
  const std::string_view source = arch::written_prefix(group.source, is_mlx_);
  for (arch::TowerTensor& tensor : arch::tower_tensors(group, number, numbers, sizes_)) {
    const auto found = by_name_.find(tensor.name);
    if (found == by_name_.end()) {
      if (tensor.need != arch::Need::required) continue;
      return fail("convert-missing", tensor.name,
                  fmt::format("is not in the file, but {} needs it", family_.rows.name));
    }
    used[found->second] = true;
    if (!arch::generator_of(*tensor.row).empty() || is_text(group)) {
      back.left_out.push_back({tensor.name, is_text(group) ? LeftOutReason::loader_copy : LeftOutReason::computed});
      continue;
    }
    tensor.prefix = root + arch::numbered(source, tensor.layer);
    MU_TRY(place(tensor, found->second, back));
  }
  return {};
}

Status TowerReverser::place(const arch::TowerTensor& expected, std::size_t index, ProjectorBack& back) {
  const Tensor& tensor = catalog_.tensors[index];
  const u64 wanted = element_count(expected.ne).value_or(0);
  const u64 all = element_count(tensor.ne).value_or(0);
  if (!tensor.is_readable() || wanted != all || all == 0) {
    return fail("convert-shape", expected.name,
                fmt::format("has shape {}, but the keys imply {}", shape_text(tensor.ne), shape_text(expected.ne)));
  }
  const std::vector<arch::SourceAlternative> alternatives = arch::parse_source(expected.row->source);
  const auto alternative = std::ranges::find_if(alternatives, [&](const arch::SourceAlternative& one) {
    return arch::holds(one.condition, sizes_, expected.layer);
  });
  if (alternative == alternatives.end()) return fail("convert-reverse", expected.name, "has no name in a directory");
  u64 first = 0;
  for (const arch::SourcePart& part : alternative->parts) MU_TRY(add_part(expected, part, index, first, back));
  return {};
}

Status TowerReverser::add_part(const arch::TowerTensor& expected, const arch::SourcePart& part, std::size_t index,
                               u64& first, ProjectorBack& back) {
  const Tensor& tensor = catalog_.tensors[index];
  const u64 all = element_count(tensor.ne).value_or(0);
  const bool is_weight = expected.side == arch::Side::weight;
  const bool has_view = !part.view.empty() && (is_weight || !part.is_of_elements);
  MU_ASSIGN(DirectoryTensor made, start(expected, part, tensor, has_view));
  u64 units = made.by_element ? all : all / tensor.ne.front();
  std::optional<arch::RowView> view =
      has_view ? arch::resolve_view(part.view, sizes_, expected.layer) : arch::whole_view(units);
  if (!view) return fail("convert-shape", expected.name, "has a layout that does not follow from its sizes");
  const auto [at, is_new] = places_.try_emplace(made.name, back.tensors.size());
  if (is_new) back.tensors.push_back(std::move(made));
  DirectoryTensor& target = back.tensors[at->second];
  const u64 count = view->rows();
  const std::optional<u64> next = checked_add(first, count);
  if (target.units() != view->source_rows || !next || *next > units) {
    return fail("convert-shape", expected.name,
                fmt::format("does not make up {} of shape {}", target.name, shape_text(target.shape())));
  }
  target.parts.push_back({index, arch::run_of_rows(first, count, units), std::move(*view)});
  first = *next;
  return {};
}

// Returns the directory's tensor that a part belongs to, still without parts.
Result<DirectoryTensor> TowerReverser::start(const arch::TowerTensor& expected, const arch::SourcePart& part,
                                             const Tensor& tensor, bool has_view) const {
  DirectoryTensor made;
  const arch::Tensor& row = *expected.row;
  const bool is_weight = expected.side == arch::Side::weight;
  made.name = expected.prefix + std::string(part.module);
  if (!row.name.starts_with('@')) made.name += is_weight ? ".weight" : ".bias";
  std::optional<std::vector<u64>> stored;
  if (is_weight) {
    for_each_name(row.stored, [&](std::string_view text) {
      const std::string_view condition = arch::take_condition(text);
      if (!stored && arch::holds(condition, sizes_, expected.layer)) {
        stored = arch::evaluate_shape(arch::trimmed(text), sizes_, expected.layer);
      }
    });
  }
  const bool is_vector = expected.ne.size() == 1 || !is_weight;
  if (stored) {
    made.ne = reversed(*stored);
  } else if (has_view) {
    const auto rows = arch::evaluate(arch::source_rows_expression(part.view), sizes_, expected.layer);
    if (!rows) return fail("convert-shape", expected.name, "has a shape that cannot be derived");
    if (!is_vector && !part.is_of_elements) made.ne.push_back(tensor.ne.front());
    made.ne.push_back(*rows);
  } else {
    made.ne.assign(tensor.ne.begin(), tensor.ne.end());
    // A tensor that GGUF stores as a single column is a vector in the directory, and a vector of one element is a
    // scalar.
    if (row.name.ends_with(".bias")) std::erase(made.ne, u64{1});
    if (row.name.starts_with('@') && row.ne == std::string_view("1")) made.ne.clear();
  }
  made.by_element = is_vector || part.is_of_elements || tensor.ne.size() > 2 || part.operation != arch::Operation::none;
  made.unit = made.by_element ? 1 : tensor.ne.front();
  made.may_quantize =
      !made.by_element && is_weight && made.ne.size() == 2 && !row.f32 && row.plain.empty() && !made.module().empty();
  if (is_weight && part.operation != arch::Operation::none) {
    made.operation = part.operation;
    number_from_chars(part.operand.data(), part.operand.data() + part.operand.size(), made.operand);
  }
  return made;
}

// The class has more layers than it uses. Nothing reads the others, so they become copies of the last used one.
void TowerReverser::copy_last_layers(ProjectorBack& back) const {
  if (!family_.copies_last_layer) return;
  const u64 layers = sizes_.get(arch::symbol::layers);
  const std::string root(arch::written_prefix(*family_.roots.begin(), is_mlx_));
  const bool has_first_norm = by_name_.contains("v.pre_ln.weight");
  const std::string last = fmt::format("{}{}{}.", root, family_.last_layers, layers - std::min<u64>(layers, 1));
  const std::string next = fmt::format("{}{}{}.", root, family_.last_layers, layers);
  const std::size_t count = back.tensors.size();
  for (std::size_t i = 0; i < count; ++i) {
    DirectoryTensor copy = back.tensors[i];
    const std::string norm = root + "pre_layrnorm.";
    const std::string last_norm = last + "layer_norm2.";
    if (copy.name.starts_with(last)) {
      if (!has_first_norm && copy.name.starts_with(last_norm)) {
        DirectoryTensor end = copy;
        end.name = root + "post_layernorm." + copy.name.substr(last_norm.size());
        back.tensors.push_back(std::move(end));
      }
      copy.name = next + copy.name.substr(last.size());
    } else if (copy.name.starts_with(norm)) {
      copy.name = root + "post_layernorm." + copy.name.substr(norm.size());
    } else {
      continue;
    }
    back.tensors.push_back(std::move(copy));
  }
  back.assumed.push_back(next + "* and post_layernorm (not read by the model: copies of the layer before it)");
}

Status TowerReverser::describe(ProjectorBack& back) const {
  arch::ConfigWriter out(family_.rows, set_, index_, sizes_);
  MU_TRY(arch::write_config_members(out));
  if (family_.describe_link != nullptr) {
    const gguf::Index text_index(text_.files.front().document);
    MU_TRY(family_.describe_link(out, arch::ConfigWriter(family_.rows, text_, text_index, sizes_)));
  }
  static_cast<void>(out.take("hidden_act"));
  const auto take_text = [&](std::string_view member, std::string& into) {
    auto value = out.take(member);
    if (!value) return;
    if (const auto* list = std::get_if<std::vector<hf::ConfigValue>>(&value->value);
        list != nullptr && !list->empty()) {
      *value = list->front();
    }
    if (const auto* text = std::get_if<std::string>(&value->value)) into = *text;
  };
  take_text("architectures", back.class_name);
  take_text("model_type", back.model_type);
  if (const auto text = out.take("text_config")) {
    if (const auto* members = std::get_if<hf::ConfigMembers>(&text->value)) {
      const hf::ConfigValue* type = hf::find_member(*members, "model_type");
      const auto* name = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
      if (name != nullptr) back.text_model_type = *name;
    }
  }
  if (auto preprocessor = out.take("preprocessor_config")) {
    if (auto* members = std::get_if<hf::ConfigMembers>(&preprocessor->value)) {
      for (hf::ConfigMember& member : *members) hf::set_member(back.preprocessor, member.name, std::move(member.value));
    }
  }
  for (hf::ConfigMember& member : out.members) hf::set_member(back.config, member.name, std::move(member.value));
  for (std::string& name : out.assumed) back.assumed.push_back(std::move(name));
  return {};
}

}  // namespace modelutils
