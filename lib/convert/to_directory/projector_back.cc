#include "convert/to_directory/projector_back.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "arch/config_writer.h"
#include "arch/geometry.h"
#include "arch/names.h"
#include "arch/projector_tensors.h"
#include "arch/projectors.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/parse.h"
#include "formats/hf/config.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

// Converts one tower.
class TowerReverser {
 public:
  TowerReverser(const arch::ProjectorFamily& family, const gguf::SplitSet& set, const gguf::Index& index,
                const Catalog& catalog, bool is_mlx)
      : family_(family), set_(set), index_(index), catalog_(catalog), is_mlx_(is_mlx) {
    for (std::size_t i = 0; i < catalog.tensors.size(); ++i) by_name_.emplace(catalog.tensors[i].name, i);
  }

  Status add_to(ProjectorBack& back, std::vector<bool>& used) {
    MU_TRY(solve());
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

  const arch::Sizes& sizes() const { return sizes_; }

 private:
  tl::unexpected<Error> fail(std::string code, std::string_view tensor, std::string message) const {
    return input_error(std::move(code), std::move(message), at_tensor(tensor), {}, set_.files.front().path);
  }

  bool is_text(const arch::ProjectorGroup& group) const {
    return (family_.roots.begin() + group.root)->starts_with('~');
  }

  // Returns the layer numbers of a group in the file, from a count or from tensor names.
  std::vector<u64> numbers_of(const arch::ProjectorGroup& group) const {
    std::vector<u64> numbers;
    if (group.numbers == nullptr) {
      const u64 count = group.count.empty() ? 1 : arch::evaluate(group.count, sizes_).value_or(0);
      for (u64 i = 0; i < std::min(count, arch::max_layers); ++i) numbers.push_back(i);
      return numbers;
    }
    std::set<u64> found;
    const std::string_view prefix = group.gguf.substr(0, group.gguf.find('#'));
    for (const Tensor& tensor : catalog_.tensors) {
      if (const auto layer = arch::layer_name(tensor.name, prefix)) found.insert(layer->layer);
    }
    return {found.begin(), found.end()};
  }

  // Keys first, then shapes, then fallbacks; at the end the sizes that are only flags.
  Status solve() {
    sizes_.set("mlx", is_mlx_ ? 1 : 0);
    sizes_.set("hf", is_mlx_ ? 0 : 1);
    sizes_.set("back", 1);
    const std::vector<const arch::Key*> keys = arch::keys_of(family_.rows);
    for (const arch::Key* key : keys) {
      if (key->symbol.empty() || key->name.empty()) continue;
      const auto value = index_.unsigned_value(fmt::format("clip.{}", key->name));
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
    return {};
  }

  // Returns the value of a flag: 1 if the file has a tensor that only towers with the flag have, or lacks the tensors
  // that only other towers have.
  u64 flag_of(std::string_view symbol) {
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

  void solve_from_shapes() {
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

  bool solve_from(const arch::TowerTensor& tensor, const Tensor& stored) {
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

  Status place_group(const arch::ProjectorGroup& group, std::size_t number, ProjectorBack& back,
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

  Status place(const arch::TowerTensor& expected, std::size_t index, ProjectorBack& back) {
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

  Status add_part(const arch::TowerTensor& expected, const arch::SourcePart& part, std::size_t index, u64& first,
                  ProjectorBack& back) {
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
  Result<DirectoryTensor> start(const arch::TowerTensor& expected, const arch::SourcePart& part, const Tensor& tensor,
                                bool has_view) const {
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
    made.by_element =
        is_vector || part.is_of_elements || tensor.ne.size() > 2 || part.operation != arch::Operation::none;
    made.unit = made.by_element ? 1 : tensor.ne.front();
    made.may_quantize =
        !made.by_element && is_weight && made.ne.size() == 2 && !row.f32 && row.plain.empty() && !made.module().empty();
    if (is_weight && part.operation != arch::Operation::none) {
      made.operation = part.operation;
      number_from_chars(part.operand.data(), part.operand.data() + part.operand.size(), made.operand);
    }
    return made;
  }

  // A table may begin with a row that nothing reads, so that the file lacks it. It becomes a copy of the next one.
  // Returns false if the tensor lacks something else.
  static bool fill_first_rows(DirectoryTensor& tensor, u64 units, ProjectorBack& back) {
    if (tensor.parts.size() != 1) return false;
    const RecipePart& only = tensor.parts.front();
    const u64 missing = only.to.base;
    if (missing == 0 || units < missing || units + missing != tensor.units() || !only.from.is_run()) return false;
    tensor.parts.push_back({only.source, arch::run_of_rows(only.from.base, missing, only.from.source_rows),
                            arch::run_of_rows(0, missing, tensor.units())});
    back.assumed.push_back(tensor.name + " (its first row is not read by the model: a copy of the next)");
    return true;
  }

  // The class has more layers than it uses. Nothing reads the others, so they become copies of the last used one.
  void copy_last_layers(ProjectorBack& back) const {
    if (!family_.copies_last_layer) return;
    const u64 layers = sizes_.get(arch::symbol::layers);
    const std::string root(arch::written_prefix(*family_.roots.begin(), is_mlx_));
    const std::string last = fmt::format("{}{}{}.", root, family_.last_layers, layers - std::min<u64>(layers, 1));
    const std::string next = fmt::format("{}{}{}.", root, family_.last_layers, layers);
    const std::size_t count = back.tensors.size();
    for (std::size_t i = 0; i < count; ++i) {
      DirectoryTensor copy = back.tensors[i];
      const std::string norm = root + "pre_layrnorm.";
      if (copy.name.starts_with(last)) {
        copy.name = next + copy.name.substr(last.size());
      } else if (copy.name.starts_with(norm)) {
        copy.name = root + "post_layernorm." + copy.name.substr(norm.size());
      } else {
        continue;
      }
      back.tensors.push_back(std::move(copy));
    }
    back.assumed.push_back(next + "* (not read by the model: a copy of the layer before it)");
  }

  Status describe(ProjectorBack& back) const {
    arch::ConfigWriter out(family_.rows, set_, index_, sizes_);
    MU_TRY(arch::write_config_members(out));
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
        for (hf::ConfigMember& member : *members)
          hf::set_member(back.preprocessor, member.name, std::move(member.value));
      }
    }
    for (hf::ConfigMember& member : out.members) hf::set_member(back.config, member.name, std::move(member.value));
    for (std::string& name : out.assumed) back.assumed.push_back(std::move(name));
    return {};
  }

  const arch::ProjectorFamily& family_;
  const gguf::SplitSet& set_;
  const gguf::Index& index_;
  const Catalog& catalog_;
  const bool is_mlx_;
  arch::Sizes sizes_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::map<std::string, std::size_t> places_;
};

// Sets the members that hold token ids ("image_token_id=<image>|…"), by looking up the texts in the vocabulary.
Status set_tokens(std::string_view list, const gguf::SplitSet& set, hf::ConfigMembers& config) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens");
  if (list.empty() || tokens == nullptr || tokens->element_type != gguf::ValueType::string) return {};
  return gguf::visit_strings(*file.source, file.document, *tokens, [&](u64 id, std::string_view text, u64) {
    for_each_name(list, [&](std::string_view entry) {
      std::string_view token = entry;
      const std::string_view member = arch::take_until(token, "=");
      if (token == text) hf::set_member(config, member, id);
    });
    return true;
  });
}

// Returns the tower of this type in a file. If there are several and the file has two encoders, returns the one for two
// encoders.
const arch::ProjectorFamily* family_of(std::string_view type, std::string_view encoder, std::string_view joint) {
  const std::vector<const arch::ProjectorFamily*> families = arch::projector_families_of(type, encoder);
  for (const arch::ProjectorFamily* family : families) {
    if (family->joint_type == joint) return family;
  }
  return families.empty() ? nullptr : families.front();
}

// Of classes that share a tower, mlx-vlm's have a vision_config with a model_type of their own.
void name_tower_as_text(hf::ConfigMembers& config, std::string_view of_tower, std::string_view of_text) {
  for (hf::ConfigMember& member : config) {
    auto* vision = member.name == "vision_config" ? std::get_if<hf::ConfigMembers>(&member.value.value) : nullptr;
    if (vision == nullptr) continue;
    const hf::ConfigValue* type = hf::find_member(*vision, "model_type");
    const auto* name = type == nullptr ? nullptr : std::get_if<std::string>(&type->value);
    if (name != nullptr && *name == of_tower) hf::set_member(*vision, "model_type", of_text);
  }
}

}  // namespace

Result<ProjectorBack> map_projector_back(const gguf::SplitSet& set, const Catalog& catalog, const TextSide& text,
                                         DirectoryStyle style) {
  const std::string& path = set.files.front().path;
  const gguf::Index index(set.files.front().document);
  const auto refuse = [&](std::string message) {
    return input_error("convert-projector", std::move(message), {}, {}, path);
  };
  if (index.architecture() != "clip") return refuse("is not a projector: its general.architecture is not 'clip'");
  ProjectorBack back;
  back.text_object = "text_config";
  std::vector<bool> used(catalog.tensors.size(), false);
  const arch::ProjectorFamily* first = nullptr;
  for (const arch::Encoder& encoder : arch::encoders) {
    if (!index.bool_value(encoder.flag).value_or(false)) continue;
    const auto type = arch::projector_type(index, encoder);
    const bool is_joint = index.string_value("clip.projector_type") == arch::qwen_omni_projector;
    const arch::ProjectorFamily* family =
        type ? family_of(*type, encoder.name, is_joint ? arch::qwen_omni_projector : std::string_view()) : nullptr;
    if (family == nullptr) {
      return refuse(fmt::format("has a projector of type '{}', which cannot be converted back", type.value_or("")));
    }
    if (first == nullptr) first = family;
    TowerReverser reverser(*family, set, index, catalog, style == DirectoryStyle::mlx);
    MU_TRY(reverser.add_to(back, used));
    MU_TRY(set_tokens(family->token_members, text.set, back.config));
  }
  if (first == nullptr) return refuse("has neither a vision nor an audio tower");
  const auto unused = std::ranges::find(used, false);
  if (unused != used.end()) {
    return input_error("convert-unmapped", fmt::format("has no place in a projector of type {}", first->rows.name),
                       at_tensor(catalog.tensors[static_cast<std::size_t>(unused - used.begin())].name), {}, path);
  }
  const arch::ConfigForm& form = first->rows.config;
  if (form.fields.empty()) {
    return refuse(
        fmt::format("has a projector of type '{}', for which no config.json can be written", first->rows.name));
  }
  if (back.class_name.empty() && !arch::has_name(first->rows.classes, text.class_name)) {
    back.class_name = arch::first_name(first->rows.classes);
    back.model_type = form.model_type;
  } else if (back.class_name.empty()) {
    name_tower_as_text(back.config, form.model_type, text.model_type);
  }
  if (!first->text_object.empty()) back.text_object = first->text_object;
  if (back.text_model_type.empty()) back.text_model_type = form.text_model_type;
  back.text_prefix = style == DirectoryStyle::mlx ? form.mlx_text_prefix : form.hf_text_prefix;
  return back;
}

hf::ConfigMembers joined_config(const ProjectorBack& back, hf::ConfigMembers text) {
  hf::ConfigMembers whole;
  hf::ConfigMembers inner;
  constexpr std::string_view outside = "bos_token_id|pad_token_id|eos_token_id";
  const bool is_wrapped = hf::find_member(text, "text_config") != nullptr;
  for (hf::ConfigMember& member : text) {
    if (is_wrapped && member.name == "text_config") {
      inner = std::get<hf::ConfigMembers>(std::move(member.value.value));
    } else if (is_wrapped || arch::has_name(outside, member.name)) {
      whole.push_back(std::move(member));
    } else {
      if (member.name == "tie_word_embeddings") whole.push_back(member);
      inner.push_back(std::move(member));
    }
  }
  if (!back.class_name.empty()) {
    hf::set_member(whole, "architectures", hf::config_list(std::vector<std::string>{back.class_name}));
    hf::set_member(whole, "model_type", back.model_type);
    if (!back.text_model_type.empty()) hf::set_member(inner, "model_type", back.text_model_type);
  }
  for (const hf::ConfigMember& member : back.config) hf::set_member(whole, member.name, member.value);
  if (back.text_object == arch::top_level) {
    for (hf::ConfigMember& member : inner) {
      if (hf::find_member(whole, member.name) == nullptr) whole.push_back(std::move(member));
    }
  } else {
    hf::set_member(whole, back.text_object, std::move(inner));
  }
  return whole;
}

std::string name_in_model(const ProjectorBack& back, std::string name) {
  constexpr std::string_view model = "model.";
  constexpr std::string_view wrapper = "language_model.";
  std::string_view of_head = back.text_prefix;
  const std::string_view prefix = arch::take_until(of_head, "|");
  // A class that is multimodal by itself may have the prefix already.
  if (back.text_prefix.empty() || name.find(wrapper) != std::string::npos) return name;
  if (name.starts_with(model)) {
    name.replace(0, model.size(), prefix);
  } else if (!of_head.empty()) {
    name.insert(0, of_head);
  } else if (prefix.starts_with(wrapper)) {
    name.insert(0, wrapper);
  }
  return name;
}

}  // namespace modelutils
