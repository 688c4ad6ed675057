#include "convert/to_directory/tensor_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "arch/loader_forms.h"
#include "arch/names.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_directory/answers.h"
#include "convert/to_directory/config_from_keys.h"
#include "formats/gguf/parse.h"
#include "io/copy_range.h"
#include "model/image_tensors.h"
#include "model/mlx/quantize.h"
#include "tensor/types.h"

namespace modelutils {

std::string DirectoryTensor::module() const {
  constexpr std::string_view suffix = ".weight";
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : std::string();
}

namespace {

constexpr std::string_view output_name = "output.weight";
constexpr std::string_view embedding_name = "token_embd.weight";

// Returns the axes that apply from a stored shape like "[mlx] I,Kc,1 | I,1,Kc", or an empty view if none do.
std::string_view stored_axes(std::string_view stored, const arch::Sizes& sizes, u64 layer) {
  std::string_view axes;
  for_each_name(stored, [&](std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (text.starts_with('[')) {
      const std::size_t close = text.find(']');
      if (!arch::holds(text.substr(1, close - 1), sizes, layer)) return;
      text.remove_prefix(close + 2);
    }
    if (axes.empty()) axes = text;
  });
  return axes;
}

// Converts a view of rows with `columns` elements to a view of elements.
arch::RowView elements_of(arch::RowView view, u64 columns) {
  view.base *= columns;
  view.source_rows *= columns;
  for (arch::RowView::Axis& axis : view.axes) axis.stride *= columns;
  view.axes.push_back({columns, 1});
  return view;
}

class Reverser {
 public:
  Reverser(const arch::Family& family, arch::Sizes sizes, const gguf::SplitSet& set, const gguf::Index& index,
           const Catalog& catalog, DirectoryStyle style)
      : family_(family),
        set_(set),
        index_(index),
        catalog_(catalog),
        style_(style),
        names_(family),
        source_names_(family, style) {
    result_.sizes = std::move(sizes);
  }

  Result<DirectoryMap> map() {
    for (std::size_t i = 0; i < catalog_.tensors.size(); ++i) by_name_.emplace(catalog_.tensors[i].name, i);
    used_.assign(catalog_.tensors.size(), false);
    complete_sizes();
    MU_TRY(drop_tied_head());
    for (const arch::ExpectedTensor& expected : arch::expected_tensors(family_, result_.sizes)) {
      MU_TRY(place(expected));
    }
    MU_TRY(place_numbers());
    MU_TRY(place_scales());
    leave_out_prediction();
    MU_TRY(refuse_leftovers());
    MU_TRY(check_cover());
    for (DirectoryTensor& tensor : result_.tensors) tensor.name = source_names_.published(std::move(tensor.name));
    return std::move(result_);
  }

 private:
  tl::unexpected<Error> fail(std::string code, std::string where, std::string message) const {
    return input_error(std::move(code), std::move(message), std::move(where), {}, set_.files.front().path);
  }

  const Tensor* find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? nullptr : &catalog_.tensors[found->second];
  }

  // Sets sizes that the keys do not contain: naming style, the tensors present in each layer, vocabulary size.
  void complete_sizes() {
    arch::Sizes& sizes = result_.sizes;
    const bool is_mlx = style_ == DirectoryStyle::mlx;
    sizes.set("mlx", is_mlx ? 1 : 0);
    sizes.set("hf", is_mlx ? 0 : 1);
    sizes.set("traditional", 0);
    sizes.set("back", 1);  // enables sources for tensors that only third-party GGUFs have; for this direction only
    const Tensor* embedding = find(embedding_name);
    if (sizes.get(arch::symbol::vocabulary) == 0 && embedding != nullptr && embedding->ne.size() == 2) {
      sizes.set(arch::symbol::vocabulary, embedding->ne[1]);
    }
    arch::set_marks(family_, sizes, [&](const std::string& name) -> std::optional<u64> {
      const Tensor* const tensor = find(name);
      if (tensor == nullptr) return std::nullopt;
      return tensor->ne.size() > 1 ? tensor->ne[1] : 1;
    });
  }

  // Leaves out an output.weight that repeats the embedding; some loaders require it even in tied models.
  Status drop_tied_head() {
    const auto head = by_name_.find(std::string(output_name));
    result_.sizes.set("head", head != by_name_.end() ? 1 : 0);
    if (head == by_name_.end()) return {};
    MU_ASSIGN(const bool is_copy, is_tied(catalog_));
    if (!is_copy) return {};
    result_.sizes.set("head", 0);
    used_[head->second] = true;
    by_name_.erase(head);
    result_.left_out.push_back({std::string(output_name), LeftOutReason::tied_copy});
    return {};
  }

  Status place(const arch::ExpectedTensor& expected) {
    const auto found = by_name_.find(expected.name);
    if (found == by_name_.end()) {
      const bool may_lack = expected.need != arch::Need::required || expected.row->name == "output";
      return may_lack ? Status{} : fail("convert-missing", at_tensor(expected.name), "is not in the file");
    }
    const std::size_t index = found->second;
    const Tensor& tensor = catalog_.tensors[index];
    used_[index] = true;
    if (!arch::generator_of(*expected.row).empty()) {
      result_.left_out.push_back({expected.name, LeftOutReason::in_config});
      return {};
    }
    if (!expected.ne.empty() && !is_same_shape(expected.ne, tensor.ne)) {
      return fail("convert-shape", at_tensor(expected.name),
                  fmt::format("has shape {}, but the hyper-parameters imply {}", shape_text(tensor.ne),
                              shape_text(expected.ne)));
    }
    if (names_.alternatives(*expected.row).empty()) {  // rows of the head, in a file of a reranker
      MU_TRY(to_directory::check_answers(set_, index_, catalog_, tensor));
      result_.has_answers = true;
      result_.left_out.push_back({expected.name, LeftOutReason::loader_copy});
      return {};
    }
    const arch::SourceAlternative* alternative = choose(*expected.row, expected.layer);
    if (alternative == nullptr && names_.alternatives(*expected.row).front().condition == "!back") {
      result_.left_out.push_back({expected.name, LeftOutReason::loader_copy});
      return {};
    }
    if (alternative == nullptr) {
      return fail("convert-reverse", at_tensor(expected.name), "has no name in a directory of this kind");
    }
    u64 first = 0;
    if (is_by_expert(*alternative)) {
      MU_TRY(add_by_expert(expected, *alternative, index, first));
      return check_rows(expected, index, first);
    }
    for (const arch::SourcePart& part : alternative->parts) {
      if (part.multiplies) add_ones(expected, part, tensor);
      const u64 copies = part.multiplies ? 0 : part.is_stacked() ? tensor.ne.back() : 1;
      for (u64 number = 0; number < copies; ++number) {
        MU_TRY(add_part(expected, part, is_alone(*alternative), number, copies, index, first));
      }
    }
    return check_rows(expected, index, first);
  }

  // Other parts may multiply it.
  static bool is_alone(const arch::SourceAlternative& alternative) {
    return std::ranges::count_if(alternative.parts, [](const arch::SourcePart& part) { return !part.multiplies; }) == 1;
  }

  // Adds a vector of ones. If a tensor is the product of two vectors, the first gets the product and the second these
  // ones.
  void add_ones(const arch::ExpectedTensor& expected, const arch::SourcePart& part, const Tensor& tensor) {
    DirectoryTensor made;
    made.name = source_names_.of_part(expected, part, 0);
    made.ne.assign(tensor.ne.begin(), tensor.ne.end());
    made.by_element = true;
    made.values.assign(static_cast<std::size_t>(made.elements()), 1.0f);
    result_.tensors.push_back(std::move(made));
  }

  // True if the tensor interleaves the rows of several tensors expert by expert.
  static bool is_by_expert(const arch::SourceAlternative& alternative) {
    return alternative.parts.front().view.find('#') != std::string_view::npos;
  }
  Status add_by_expert(const arch::ExpectedTensor& expected, const arch::SourceAlternative& alternative,
                       std::size_t index, u64& first) {
    for (u64 number = 0; number < catalog_.tensors[index].ne.back(); ++number) {
      for (const arch::SourcePart& part : alternative.parts) {
        std::string view(part.view);
        view.replace(view.find('#'), 1, std::to_string(number));
        arch::SourcePart of_expert = part;
        of_expert.view = view;
        MU_TRY(add_part(expected, of_expert, false, 0, 1, index, first));
      }
    }
    return {};
  }

  Status check_rows(const arch::ExpectedTensor& expected, std::size_t index, u64 first) const {
    const u64 units = units_of_.at(index);
    if (first != units) {
      return fail("convert-shape", at_tensor(expected.name),
                  fmt::format("has {} rows, but the hyper-parameters imply {}", units, first));
    }
    return {};
  }

  // Returns the first alternative whose condition holds. For Hugging Face names, prefers alternatives that are not
  // MLX's own.
  const arch::SourceAlternative* choose(const arch::Tensor& row, u64 layer) const {
    const arch::SourceAlternative* first = nullptr;
    for (const arch::SourceAlternative& alternative : names_.alternatives(row)) {
      if (!arch::holds(alternative.condition, result_.sizes, layer)) continue;
      if (first == nullptr) first = &alternative;
      if (style_ == DirectoryStyle::mlx || !arch::is_name_of_mlx(alternative.parts.front().module)) return &alternative;
    }
    return first;
  }

  // Adds the units that one part (of one expert) takes from tensor `index`, starting at unit `first`. Advances `first`.
  Status add_part(const arch::ExpectedTensor& expected, const arch::SourcePart& part, bool is_alone, u64 number,
                  u64 copies, std::size_t index, u64& first) {
    const Tensor& tensor = catalog_.tensors[index];
    const bool is_weight = expected.side == arch::Side::weight;
    const bool has_view = !part.view.empty() && (is_weight || !part.is_of_elements);
    const std::span<const u64> ne = tensor.ne.first(tensor.ne.size() - (part.is_stacked() ? 1 : 0));
    MU_ASSIGN(DirectoryTensor made, start_tensor(expected, part, has_view, number, ne));
    bool by_element = made.by_element;
    const u64 all = element_count(tensor.ne).value_or(0);
    units_of_[index] = by_element ? all : all / tensor.ne.front();
    std::optional<arch::RowView> view = arch::whole_view(units_of_[index] / copies);
    if (has_view) view = arch::resolve_view(part.view, result_.sizes, expected.layer);
    if (!has_view && !is_alone) {  // no size determines where each part ends
      return fail("convert-reverse", at_tensor(expected.name),
                  "is joined from several tensors and cannot be split again");
    }
    if (!view)
      return fail("convert-shape", at_tensor(expected.name), "has a layout that does not follow from its sizes");
    if (has_view && part.is_of_elements && is_alone && take_pieces(tensor, made, *view)) {
      by_element = false;
      units_of_[index] = all / made.unit;
    }
    const auto [at, is_new] = places_.try_emplace(made.name, result_.tensors.size());
    if (is_new) result_.tensors.push_back(std::move(made));
    DirectoryTensor& target = result_.tensors[at->second];
    if (target.by_element && !by_element) {  // the tensor's other part is by element
      by_element = true;
      units_of_[index] = all;
      *view = elements_of(*view, tensor.ne.front());
    }
    if (target.by_element != by_element || target.units() != view->source_rows) {
      return fail("convert-shape", at_tensor(expected.name),
                  fmt::format("does not make up {} of shape {}", target.name, shape_text(target.shape())));
    }
    target.may_quantize = target.may_quantize && !expected.row->f32;
    const u64 rows = view->rows();
    target.parts.push_back({index, arch::run_of_rows(first, rows, units_of_[index]), std::move(*view)});
    const std::optional<u64> next = checked_add(first, rows);
    if (!next || *next > units_of_[index]) {
      return fail("convert-shape", at_tensor(expected.name), "has fewer rows than the hyper-parameters imply");
    }
    first = *next;
    return {};
  }

  // If the view moves whole runs of columns that consist of whole blocks, keeps the runs as stored instead of picking
  // elements.
  static bool take_pieces(const Tensor& tensor, DirectoryTensor& made, arch::RowView& view) {
    const u64 block = type_info(*tensor.type).block_elements;
    const u64 length = view.axes.back().count;
    if (block <= 1 || length % block != 0 || length % mlx::search_group != 0 || made.ne.size() != 2 ||
        made.ne.front() % length != 0)
      return false;
    std::optional<arch::RowView> runs = view.of_runs(tensor.ne.front());
    if (!runs) return false;
    view = std::move(*runs);
    made.by_element = false;
    made.unit = length;
    return true;
  }

  // Creates the directory tensor that a part goes into, still without parts. `ne` is the shape of one expert.
  Result<DirectoryTensor> start_tensor(const arch::ExpectedTensor& expected, const arch::SourcePart& part,
                                       bool has_view, u64 number, std::span<const u64> ne) const {
    DirectoryTensor made;
    made.name = source_names_.of_part(expected, part, number);
    const arch::Tensor& row = *expected.row;
    const bool is_weight = expected.side == arch::Side::weight;
    // A vector's bias has the vector's shape.
    const bool is_like_weight = is_weight || arch::dimensions_of(row.ne).size() == 1;
    const std::string_view stored = is_like_weight ? stored_axes(row.stored, result_.sizes, expected.layer) : "";
    if (!stored.empty()) {
      const auto shape = arch::evaluate_shape(stored, result_.sizes, expected.layer);
      if (!shape) return fail("convert-shape", at_tensor(expected.name), "has a shape that cannot be derived");
      made.ne = reversed(*shape);
    } else if (has_view) {
      const auto rows = arch::evaluate(arch::source_rows_expression(part.view), result_.sizes, expected.layer);
      if (!rows) return fail("convert-shape", at_tensor(expected.name), "has a shape that cannot be derived");
      if (is_weight && ne.size() > 1) made.ne.push_back(ne.front());
      made.ne.push_back(*rows);
    } else {
      made.ne.assign(ne.begin(), ne.end());
    }
    const auto dimensions = std::ranges::count_if(made.ne, [](u64 size) { return size != 1; });
    const bool is_small = ne.size() == 1 || !is_weight || dimensions <= 1 || part.operation == arch::Operation::neg_exp;
    made.by_element = is_small || part.is_of_elements;
    made.unit = made.by_element ? 1 : ne.front();
    made.is_of_experts = row.is_of_experts;
    made.may_quantize = is_weight && !is_small && made.ne.size() >= 2 && !made.module().empty();
    if (is_weight && part.operation != arch::Operation::none && part.operation != arch::Operation::times &&
        part.operation != arch::Operation::unit_columns && part.operation != arch::Operation::unit_rows) {
      made.operation = part.operation;
      made.by_element = true;
      made.may_quantize = false;
      made.unit = 1;
      number_from_chars(part.operand.data(), part.operand.data() + part.operand.size(), made.operand);
    }
    return made;
  }

  // Turns keys with one number per layer back into tensors of one element.
  Status place_numbers() {
    for (const auto& group : family_.layer_tensors) {
      for (const arch::Tensor& row : group) {
        const std::string_view key = arch::key_of_numbers(row);
        if (key.empty()) continue;
        const gguf::ArrayRef* array = index_.array_value(key);
        const u64 layers = result_.sizes.get(arch::symbol::layers);
        if (array == nullptr || array->count != layers || gguf::value_size(array->element_type) == 0) {
          return fail("convert-missing", at_key(key), fmt::format("is not an array of {} numbers", layers));
        }
        const gguf::SetFile& file = set_.files.front();
        MU_ASSIGN(const std::vector<double> values, gguf::read_numbers<double>(*file.source, file.document, *array));
        const arch::SourcePart& part = names_.alternatives(row).front().parts.front();
        for (u64 layer = 0; layer < layers; ++layer) {
          DirectoryTensor made;
          made.name = source_names_.in_layer(row, layer, part.module);
          const std::string_view stored = stored_axes(row.stored, result_.sizes, layer);
          if (!stored.empty()) made.ne = reversed(arch::evaluate_shape(stored, result_.sizes, layer).value_or(made.ne));
          made.by_element = true;
          made.values = {static_cast<float>(values[static_cast<std::size_t>(layer)])};
          result_.tensors.push_back(std::move(made));
        }
      }
    }
    return {};
  }

  // Leaves out layers past the last one, which neither reader uses.
  void leave_out_prediction() {
    const u64 layers = result_.sizes.get(arch::symbol::layers);
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const std::string_view name = catalog_.tensors[i].name;
      const std::optional<u64> block = arch::block_of(name);
      if (used_[i] || !block || *block < layers) continue;
      used_[i] = true;
      result_.left_out.push_back({std::string(name), LeftOutReason::prediction});
    }
  }

  // "X.scale" multiplies the values of "X.weight". "X.input_scale" only says how a runtime may round activations.
  Status place_scales() {
    constexpr std::string_view scale_suffix = ".scale", input_suffix = ".input_scale";
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const Tensor& scale = catalog_.tensors[i];
      const bool is_scale = scale.name.ends_with(scale_suffix);
      if (used_[i] || (!is_scale && !scale.name.ends_with(input_suffix)) || scale.type != TensorType::F32) continue;
      const std::size_t end = scale.name.size() - (is_scale ? scale_suffix : input_suffix).size();
      const auto weight = by_name_.find(std::string(scale.name.substr(0, end)) + ".weight");
      if (weight == by_name_.end() || !used_[weight->second] || scale.ne.size() != 1) continue;
      const std::span<const u64> ne = catalog_.tensors[weight->second].ne;
      if (scale.ne[0] != 1 && (ne.size() != 3 || scale.ne[0] != ne[2])) continue;
      used_[i] = true;
      if (!is_scale) {
        result_.left_out.push_back({std::string(scale.name), LeftOutReason::activation_scales});
        continue;
      }
      std::vector<float> factors(static_cast<std::size_t>(scale.ne[0]));
      MU_TRY(catalog_.read(scale, 0, std::as_writable_bytes(std::span(factors))));
      for (DirectoryTensor& tensor : result_.tensors) {
        for (RecipePart& part : tensor.parts) {
          if (part.source == weight->second) part.factors = factors;
        }
      }
    }
    return {};
  }

  Status refuse_leftovers() const {
    std::vector<std::string> unmapped;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) unmapped.emplace_back(catalog_.tensors[i].name);
    }
    if (unmapped.empty()) return {};
    return fail(
        "convert-unmapped", {},
        fmt::format("{} {} no equivalent in a directory of architecture {}: {}", counted(unmapped.size(), "tensor"),
                    verb(unmapped.size(), "has", "have"), family_.gguf, joined_first(unmapped)));
  }

  // Checks that the sources of each tensor add up to its units.
  Status check_cover() const {
    for (const DirectoryTensor& tensor : result_.tensors) {
      u64 units = tensor.values.size();
      for (const RecipePart& part : tensor.parts) units = checked_add(units, part.units()).value_or(0);
      if (units != tensor.units()) {
        return fail(
            "convert-reverse", at_tensor(tensor.name),
            fmt::format(
                "would get only {} of its {} rows from the file: the layout of this architecture cannot be undone",
                units, tensor.units()));
      }
    }
    return {};
  }

  const arch::Family& family_;
  const gguf::SplitSet& set_;
  const gguf::Index& index_;
  const Catalog& catalog_;
  const DirectoryStyle style_;
  arch::Names names_;
  const PublishedNames source_names_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<bool> used_;
  std::unordered_map<std::size_t, u64> units_of_;        // unit count of a catalog tensor, in its parts' units
  std::unordered_map<std::string, std::size_t> places_;  // directory name -> index into result_.tensors
  DirectoryMap result_;
};

}  // namespace

Result<bool> is_tied(const Catalog& catalog) {
  const Tensor* head = catalog.find(output_name);
  const Tensor* embedding = catalog.find(embedding_name);
  if (head == nullptr) return true;
  if (embedding == nullptr || head->type != embedding->type || !std::ranges::equal(head->ne, embedding->ne))
    return false;
  return same_bytes(*catalog.files[head->file].source, head->offset, *catalog.files[embedding->file].source,
                    embedding->offset, head->bytes);
}

namespace {

// Carries over tensor `number` of the catalog under another name and shape of as many elements, in its stored rows.
DirectoryTensor whole_tensor(const Catalog& catalog, std::size_t number, std::string_view name,
                             std::span<const u64> ne) {
  const std::span<const u64> stored = catalog.tensors[number].ne;
  DirectoryTensor made;
  made.name = name;
  made.ne.assign(ne.begin(), ne.end());
  made.unit = stored.empty() ? 1 : std::max<u64>(stored.front(), 1);  // avoids rows of 0 elements for empty tensors
  made.parts.push_back({number, arch::whole_view(made.units()), arch::whole_view(made.units())});
  return made;
}

}  // namespace

DirectoryMap map_raw(const Catalog& catalog) {
  DirectoryMap map;
  for (std::size_t i = 0; i < catalog.tensors.size(); ++i) {
    map.tensors.push_back(whole_tensor(catalog, i, catalog.tensors[i].name, catalog.tensors[i].ne));
  }
  return map;
}

DirectoryMap map_image(const gguf::SplitSet& set, const arch::ImageLayout& layout, const Catalog& catalog) {
  DirectoryMap map;
  const std::vector<std::optional<ImageTensor>> tensors = image_tensors(set, layout);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]) {
      map.tensors.push_back(whole_tensor(catalog, i, tensors[i]->name, tensors[i]->ne));
    } else {
      map.left_out.push_back({std::string(catalog.tensors[i].name), LeftOutReason::beside_model});
    }
  }
  return map;
}

Result<DirectoryMap> map_to_directory(const arch::Family& family, arch::Sizes sizes, const gguf::SplitSet& set,
                                      const gguf::Index& index, const Catalog& catalog, DirectoryStyle style) {
  return Reverser(family, std::move(sizes), set, index, catalog, style).map();
}

}  // namespace modelutils
