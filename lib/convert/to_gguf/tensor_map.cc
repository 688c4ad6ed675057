#include "convert/to_gguf/tensor_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "arch/encoder_rows.h"
#include "arch/geometry.h"
#include "arch/loader_forms.h"
#include "arch/prediction_rows.h"
#include "arch/rope.h"
#include "arch/stacks.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_gguf/part_placer.h"
#include "convert/to_gguf/rows.h"
#include "convert/to_gguf/sources.h"
#include "formats/hf/names.h"
#include "io/copy_range.h"
#include "model/catalog.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

constexpr std::string_view head_row = "output";
constexpr std::string_view own_head = "head";  // name of the size that is 1 if the output head is not the embedding

class NameMapper {
 public:
  explicit NameMapper(const HfModel& model)
      : model_(model), names_(*model.family), sources_(model, names_), placer_(model, *model.family) {}

  Result<TensorMap> map() {
    MU_TRY(sources_.collect());
    arch::Sizes known;
    known.set("mlx", model_.is_mlx ? 1 : 0);
    known.set("hf", model_.is_mlx ? 0 : 1);
    known.set("back", 0);
    known.set("Lp", model_.prediction_blocks);
    known.set("traditional", model_.config.bool_field("rope_traditional").value_or(false) ? 1 : 0);
    MU_TRY(require_embedding());
    MU_ASSIGN(result_.sizes,
              arch::solve_sizes(family(), model_.config, layers(), sources_.shape_facts(layers()), std::move(known)));
    MU_TRY(arch::check_rope_tensors(family(), model_.config));
    set_marks();
    MU_TRY(settle_head());
    MU_TRY(leave_out_copies());
    for (const arch::ExpectedTensor& expected : arch::expected_tensors(family(), result_.sizes)) {
      MU_TRY(place(expected));
    }
    MU_TRY(place_blocks());
    for (const auto& group : family().layer_tensors) {
      for (const arch::Tensor& row : group) {
        if (!arch::key_of_numbers(row).empty()) MU_TRY(place_numbers(row));
      }
    }
    MU_TRY(place_answers());
    MU_TRY(require_classifier());
    MU_TRY(refuse_leftovers());
    return std::move(result_);
  }

 private:
  const arch::Family& family() const { return *model_.family; }
  u64 layers() const { return sources_.layers() - std::min(sources_.layers(), model_.prediction_blocks); }

  tl::unexpected<Error> fail(std::string code, std::string where, std::string message) const {
    return input_error(std::move(code), std::move(message), std::move(where), {}, model_.directory);
  }
  tl::unexpected<Error> fail_at(const arch::ExpectedTensor& expected, std::string code, std::string message) const {
    return fail(std::move(code), at_tensor(expected.name), std::move(message));
  }

  // Every other size depends on the embedding's width, so report a missing embedding first.
  Status require_embedding() const {
    for (const arch::Tensor& row : family().first_tensors) {
      if (row.name == "token_embd" && find_source(row, 0, arch::Side::weight).parts.empty()) {
        return fail("convert-missing", at_tensor("token_embd.weight"), "has no source in the directory");
      }
    }
    return {};
  }

  void set_marks() {
    const u64 all = std::max(sources_.layers(), arch::layers_of_stacks(family(), result_.sizes));
    for (const arch::Mark& mark : family().marks) {
      std::vector<u64> values(static_cast<std::size_t>(all), 0);
      for (const std::span<const arch::Tensor> group : family().layer_tensors) {
        for (const arch::Tensor& row : group) {
          for (u64 layer = 0; row.name == arch::tensor_of(mark) && layer < values.size(); ++layer) {
            const Found found = find_source(row, layer, arch::Side::weight);
            const auto rows = found.parts.empty() ? std::nullopt : std::optional(rows_of(*found.parts.front()));
            values[static_cast<std::size_t>(layer)] = arch::value_of(mark, rows, result_.sizes, layer);
          }
        }
      }
      result_.sizes.set_layers(mark.symbol, std::move(values));
    }
  }

  // Maps the blocks that predict further tokens, which have their own sizes.
  Status place_blocks() {
    const u64 blocks = model_.prediction_blocks;
    if (blocks == 0) return {};
    const arch::Sizes trunk = result_.sizes;
    result_.sizes = arch::sizes_of_blocks(family(), trunk, blocks, sources_.shape_facts());
    set_marks();
    if (model_.is_mlx) MU_TRY(find_shift());
    for (const arch::ExpectedTensor& expected : arch::expected_block_tensors(family(), result_.sizes, blocks)) {
      MU_TRY(place(expected));
    }
    result_.block_sizes = std::exchange(result_.sizes, trunk);
    set_marks();
    return {};
  }

  // MLX stores certain norms with 1 added. Prediction blocks may lack that, since mlx-lm drops the blocks and other
  // tools may keep their norms as published. The mean over all such norms is then near 0 instead of 1.
  Status find_shift() {
    double sum = 0;
    u64 count = 0;
    const auto all = arch::expected_block_tensors(family(), result_.sizes, model_.prediction_blocks);
    for (const arch::ExpectedTensor& expected : all) {
      if (expected.row->source.find("@add_one") == std::string_view::npos) continue;
      const Found found = find_source(*expected.row, expected.layer, expected.side);
      if (found.parts.empty()) continue;
      MappedTensor norm;
      norm.name = expected.name;
      norm.ne = expected.ne;
      norm.is_whole = norm.must_be_f32 = true;
      MU_TRY(placer_.add_part(expected, found.alternative->parts.front(), true, *found.parts.front(), result_.sizes,
                              norm));
      norm.operation = arch::Operation::none;
      MU_ASSIGN(const std::vector<float> values, read_whole(model_, norm));
      for (const float value : values) sum += value;
      count += values.size();
    }
    constexpr double between = 0.5;
    if (count == 0 || sum / static_cast<double>(count) >= between) return {};
    result_.shifts_block_norms = true;
    result_.sizes.set("mlx", 0);
    return {};
  }

  struct Found {
    const arch::SourceAlternative* alternative = nullptr;
    std::vector<const PartMatrices*> parts;
  };
  u64 rows_of(const PartMatrices& part) const { return model_.matrices[part.begin()->second].rows(); }
  // Returns the first alternative whose condition holds and whose parts are all present.
  Found find_source(const arch::Tensor& row, u64 layer, arch::Side side) const {
    const std::vector<arch::SourceAlternative>& alternatives = names_.alternatives(row);
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      if (!arch::holds(alternatives[i].condition, result_.sizes, layer)) continue;
      std::vector<const PartMatrices*> parts = sources_.parts(row, layer, side, i);
      if (!parts.empty()) return {&alternatives[i], std::move(parts)};
    }
    return {};
  }

  Status place(const arch::ExpectedTensor& expected) {
    Found found = find_source(*expected.row, expected.layer, expected.side);
    if (expected.row->name == "output" && !has_own_head()) {
      found = family().head == arch::OutputHead::always ? embedding_source() : Found{};
    }
    MappedTensor tensor;
    if (const std::string_view generator = arch::generator_of(*expected.row); !generator.empty()) {
      MU_ASSIGN(auto made, arch::generate(generator, family(), model_.config, result_.sizes, model_.is_mlx));
      if (!made) return {};
      tensor.name = expected.name;
      tensor.must_be_f32 = expected.must_be_f32;
      tensor.ne = expected.ne;
      tensor.is_whole = true;
      tensor.values = std::move(*made);
      result_.tensors.push_back(std::move(tensor));
      return {};
    }
    if (found.parts.empty()) {
      if (expected.need != arch::Need::required) return {};
      return fail_at(expected, "convert-missing", "has no source in the directory");
    }
    MU_ASSIGN(tensor, placer_.make(expected, *found.alternative, found.parts, result_.sizes));
    sources_.use(found.parts);
    result_.tensors.push_back(std::move(tensor));
    return {};
  }

  Status place_numbers(const arch::Tensor& row) {
    LayerNumbers numbers{std::string(arch::key_of_numbers(row)), {}};
    for (u64 layer = 0; layer < result_.sizes.get(arch::symbol::layers); ++layer) {
      const Found found = find_source(row, layer, arch::Side::weight);
      if (found.parts.empty()) {
        return fail("convert-missing", at_key(numbers.key),
                    fmt::format("has no source in the directory for layer {}", layer));
      }
      const std::size_t index = found.parts.front()->begin()->second;
      const Weight& matrix = model_.matrices[index];
      if (matrix.rows() != 1 || matrix.columns() != 1) {
        return fail("convert-shape", at_tensor(matrix.name), "is not a single number");
      }
      sources_.use(found.parts);
      numbers.matrices.push_back(index);
    }
    result_.numbers.push_back(std::move(numbers));
    return {};
  }

  // Decides whether the model has its own output head. Tied embeddings: docs/conversion.md.
  Status settle_head() {
    if (std::ranges::none_of(family().last_tensors, [](const arch::Tensor& row) { return row.name == "output"; })) {
      result_.sizes.set(own_head, 0);
      return {};
    }
    const std::optional<bool> tied = model_.config.tie_word_embeddings;
    const Found found = head_source();
    const bool is_there = !found.parts.empty();
    if (!is_there &&
        std::ranges::find(family().last_tensors, head_row, &arch::Tensor::name) == family().last_tensors.end()) {
      return {};  // nothing computes logits
    }
    bool is_copy = false;
    if (is_there) {
      const std::size_t head = found.parts.front()->begin()->second;
      MU_ASSIGN(is_copy, embedding_is_head(head));
      if (is_copy) {
        result_.left_out.push_back({"lm_head.weight", LeftOutReason::tied_copy});
        sources_.drop(head);
      }
    }
    result_.sizes.set(own_head, is_there && !is_copy ? 1 : 0);
    if (tied.value_or(!is_there) && has_own_head()) {
      remark_head("is true, but lm_head.weight differs from the embedding; the tensor decides: it is kept");
    } else if (!tied.value_or(true) && !is_there) {
      remark_head("is false, but there is no lm_head.weight; the tensors decide: the embedding is the output head");
    }
    return {};
  }

  // Old files repeat the embedding under each name that the class has for it.
  Status leave_out_copies() {
    const Found embedding = embedding_source();
    if (embedding.parts.empty()) return {};
    const std::size_t kept = embedding.parts.front()->begin()->second;
    for (const arch::Tensor& row : family().first_tensors) {
      if (row.name != "token_embd") continue;
      for (std::size_t i = 0; i < names_.alternatives(row).size(); ++i) {
        const auto parts = sources_.parts(row, 0, arch::Side::weight, i);
        const std::size_t other = parts.size() == 1 ? parts.front()->begin()->second : kept;
        if (other == kept) continue;
        MU_ASSIGN(const bool is_copy, same_content(model_.matrices[other], model_.matrices[kept]));
        if (!is_copy) continue;
        result_.left_out.push_back({model_.matrices[other].name, LeftOutReason::tied_copy});
        sources_.drop(other);
      }
    }
    return {};
  }

  void remark_head(std::string message) {
    result_.remarks.note(Scope::model, "convert-tied-head", std::move(message), at_field("tie_word_embeddings"));
  }

  // True if the logits are computed with a separate head instead of the embedding.
  bool has_own_head() const { return result_.sizes.get(own_head) != 0; }

  Found head_source() const {
    for (const arch::Tensor& row : family().last_tensors) {
      if (row.name == "output") return find_source(row, 0, arch::Side::weight);
    }
    return {};
  }

  Found embedding_source() const {
    for (const arch::Tensor& row : family().first_tensors) {
      if (row.name == "token_embd") return find_source(row, 0, arch::Side::weight);
    }
    return {};
  }

  // True if `head` equals the embedding. config.json may claim tied weights although they differ, so compare the
  // values. If neither config.json nor the family ties them, keep the head without comparing.
  Result<bool> embedding_is_head(std::size_t head) const {
    const bool may_be_copy = model_.config.tie_word_embeddings.value_or(false) || family().tied_by_default ||
                             family().head == arch::OutputHead::never;
    const Found embedding = embedding_source();
    if (!may_be_copy || embedding.parts.empty()) return false;
    return same_content(model_.matrices[head], model_.matrices[embedding.parts.front()->begin()->second]);
  }

  Result<bool> same_content(const Weight& a, const Weight& b) const {
    if (a.ne != b.ne) return false;
    if (a.form != b.form) {
      if (!a.form.is_plain() || !b.form.is_plain()) return false;
      return same_values(model_.model->stored(a), model_.model->stored(b));
    }
    for (std::size_t i = 0; i < max_planes; ++i) {
      const Tensor& left = *a.planes[i];
      const Tensor& right = *b.planes[i];
      if (left.bytes == 0 && right.bytes == 0) continue;
      if (left.bytes != right.bytes) return false;
      MU_ASSIGN(const bool same,
                same_bytes(*model_.plane(left).file, left.offset, *model_.plane(right).file, right.offset, left.bytes));
      if (!same) return false;
    }
    return true;
  }

  // Older GPTQ writers give every module a bias, even where the architecture has none. Drops those that are all zeros.
  Status leave_out_zero_biases(std::vector<std::string>& unmapped) {
    const auto is_bias = [](std::string_view name) { return hf::split_name(name).suffix == hf::Suffix::bias; };
    if (std::ranges::none_of(unmapped, is_bias)) return {};
    std::unordered_set<std::string> packed;  // modules stored as GPTQ or AWQ
    for (const Weight& weight : model_.matrices) {
      if (weight.codes().name.ends_with(".qweight")) packed.emplace(hf::split_name(weight.name).module);
    }
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < model_.matrices.size(); ++i) places.emplace(model_.matrices[i].name, i);
    std::vector<std::string> kept;
    for (std::string& name : unmapped) {
      bool is_zero = false;
      if (is_bias(name) && packed.contains(std::string(hf::split_name(name).module))) {
        MU_ASSIGN(is_zero, is_zero_vector(places.at(name)));
      }
      if (is_zero) {
        result_.left_out.push_back({std::move(name), LeftOutReason::zero_bias});
      } else {
        kept.push_back(std::move(name));
      }
    }
    unmapped = std::move(kept);
    return {};
  }

  // Leaves out tensors that a row uses only in other models, such as the pooler of a classifier.
  void leave_out_heads(std::vector<std::string>& unmapped) {
    const bool is_classifier = arch::is_classifier(model_.config);
    std::erase_if(unmapped, [&](const std::string& name) {
      const bool is_used = is_classifier && names_.match(std::string(hf::split_name(name).module) + ".weight");
      if (is_used || !names_.leaves_out(name)) return false;
      result_.left_out.push_back({name, LeftOutReason::unused_head});
      return true;
    });
  }

  // Leaves out vectors that the model adds, but llama.cpp does not know. Warns of them unless they are 0.
  Status leave_out_lost(std::vector<std::string>& unmapped) {
    if (family().lost_unless_zero.empty()) return {};
    float greatest = 0;
    std::string first;
    std::vector<std::string> kept;
    for (std::string& name : unmapped) {
      if (name.find(family().lost_unless_zero) == std::string::npos) {
        kept.push_back(std::move(name));
        continue;
      }
      const auto found = std::ranges::find(model_.matrices, name, &Weight::name);
      MU_ASSIGN(const std::vector<float> values,
                read_vector(static_cast<std::size_t>(found - model_.matrices.begin())));
      for (const float value : values) {
        if (std::abs(value) > std::abs(greatest)) greatest = value;
      }
      if (greatest != 0 && first.empty()) first = name;
      result_.left_out.push_back({std::move(name), LeftOutReason::lost});
    }
    unmapped = std::move(kept);
    if (greatest == 0) return {};
    result_.remarks.warning(Scope::model, "convert-lost",
                            fmt::format("is added by the model, but a GGUF has no place for it and llama.cpp computes "
                                        "without; its greatest value is {}",
                                        greatest),
                            at_tensor(first));
    return {};
  }

  Result<std::vector<float>> read_vector(std::size_t index) const {
    const u64 elements = checked_mul(model_.matrices[index].rows(), model_.matrices[index].columns()).value_or(0);
    MappedTensor vector;
    vector.ne = {elements};
    vector.is_whole = true;
    vector.parts.push_back({index, arch::whole_view(elements), arch::whole_view(elements)});
    return read_whole(model_, vector);
  }

  // Takes the scores of a reranker from the rows of its output head, or of the embedding if that is the head. A
  // separate head is not used otherwise.
  Status place_answers() {
    if (model_.answers.empty()) return {};
    const bool has_head = has_own_head();
    const Found found = has_head ? head_source() : embedding_source();
    const std::size_t index = found.parts.front()->begin()->second;
    const Weight& head = model_.matrices[index];
    MappedTensor scores;
    scores.name = "cls.output.weight";
    scores.ne = {head.columns(), model_.answers.size()};
    scores.unit = head.columns();
    for (std::size_t i = 0; i < model_.answers.size(); ++i) {
      if (model_.answers[i] >= head.rows()) {
        return fail("convert-shape", at_tensor(head.name), "has fewer rows than the vocabulary has tokens");
      }
      scores.parts.push_back({index, arch::run_of_rows(model_.answers[i], 1, head.rows()),
                              arch::run_of_rows(i, 1, model_.answers.size())});
    }
    sources_.use(found.parts);
    if (has_head) {
      std::erase_if(result_.tensors, [](const MappedTensor& tensor) { return tensor.name == "output.weight"; });
      result_.left_out.push_back({head.name, LeftOutReason::unused_head});
      result_.sizes.set(own_head, 0);
    }
    result_.sizes.set("N", model_.answers.size());
    result_.tensors.push_back(std::move(scores));
    return {};
  }

  // A model of sequence classification must have its scores.
  Status require_classifier() const {
    if (result_.sizes.get("N") == 0) return {};
    const auto is_it = [](const MappedTensor& tensor) { return tensor.name == "cls.output.weight"; };
    if (std::ranges::any_of(result_.tensors, is_it)) return {};
    return fail("convert-missing", at_tensor("cls.output.weight"),
                "has no source in the directory, but the model's class is for classification");
  }

  Result<bool> is_zero_vector(std::size_t index) const {
    if (model_.matrices[index].rows() != 1) return false;
    MU_ASSIGN(const std::vector<float> values, read_vector(index));
    return std::ranges::all_of(values, [](float value) { return value == 0; });
  }

  // Refuses tensors that nothing used, with its own message for a head that llama.cpp does not load.
  Status refuse_leftovers() {
    if (family().head == arch::OutputHead::never && has_own_head()) {
      return fail("convert-output-head", at_tensor("lm_head.weight"),
                  "differs from the embedding, but llama.cpp supports no output head for this architecture");
    }
    std::vector<std::string> unmapped = sources_.unused();
    leave_out_heads(unmapped);
    MU_TRY(leave_out_lost(unmapped));
    MU_TRY(leave_out_zero_biases(unmapped));
    if (unmapped.empty()) return {};
    return fail(
        "convert-unmapped", {},
        fmt::format("{} {} no equivalent in a GGUF of architecture {}: {}{}", counted(unmapped.size(), "tensor"),
                    verb(unmapped.size(), "has", "have"), family().gguf, joined_first(unmapped),
                    model_.prediction_blocks > 0 ? "; --mtp drop leaves out multi-token prediction (MTP)" : ""));
  }

  const HfModel& model_;
  arch::Names names_;
  HfSources sources_;
  PartPlacer placer_;
  TensorMap result_;
};

}  // namespace

Result<TensorMap> map_tensors(const HfModel& model) {
  return NameMapper(model).map();
}

}  // namespace modelutils
