#include "model/hf_tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/checked_math.h"
#include "io/same_bytes.h"
#include "model/hf_geometry.h"
#include "model/rope_scaling.h"
#include "tensor/shape.h"

namespace modelutils {

u64 MappedTensor::rows() const {
  u64 product = 1;
  for (std::size_t d = 1; d < ne.size(); ++d) product *= ne[d];
  return product;
}

namespace {

// The sources of one GGUF tensor before they are put together.
struct Source {
  std::vector<u64> shape;  // safetensors order; of a stack of experts the whole stack's
  std::vector<RowRange> parts;
  std::map<u64, std::size_t> experts;  // by number, for stacks that come one matrix at a time
};

class Mapper {
 public:
  explicit Mapper(const HfModel& model) : model_(model) {}

  Result<TensorMap> map() {
    MU_TRY(collect());
    MU_TRY(stack_experts());
    const auto shape_of = [this](std::string_view name) -> const std::vector<u64>* {
      const auto found = sources_.find(std::string(name));
      return found == sources_.end() ? nullptr : &found->second.shape;
    };
    MU_ASSIGN(result_.parameters, hf_geometry(model_, layers_, shape_of));
    MU_TRY(choose_output_head());
    MU_TRY(make_rope_tensors());
    for (const ExpectedTensor& expected : expected_tensors(*model_.architecture, result_.parameters)) {
      MU_TRY(place(expected));
    }
    MU_TRY(refuse_leftovers());
    return std::move(result_);
  }

 private:
  tl::unexpected<Error> fail(std::string code, std::string where, std::string message) const {
    return input_error(std::move(code), std::move(message), std::move(where), {}, model_.directory);
  }

  // Every source under its GGUF name.
  Status collect() {
    for (std::size_t i = 0; i < model_.matrices.size(); ++i) {
      const SourceMatrix& matrix = model_.matrices[i];
      const mlx::SplitName split = mlx::split_name(matrix.name);
      const bool is_bias = split.suffix == mlx::Suffix::bias;
      std::optional<mlx::GgufTarget> target;
      if (is_bias || split.suffix == mlx::Suffix::weight || split.suffix == mlx::Suffix::none) {
        target = mlx::gguf_module(model_.hf_architecture->family, split.module);
      }
      // Only stacks of experts go without a suffix.
      const bool is_stack = matrix.shape.size() == 3;
      if (!target || (split.suffix == mlx::Suffix::none && !is_stack) ||
          (is_bias && target->piece != mlx::Piece::whole)) {
        unmapped_.push_back(matrix.name);
        continue;
      }
      if (target->layer) layers_ = std::max(layers_, *target->layer + 1);
      MU_TRY(add(*target, is_bias ? ".bias" : ".weight", i));
    }
    return {};
  }

  Status add(const mlx::GgufTarget& target, std::string_view suffix, std::size_t index) {
    const SourceMatrix& matrix = model_.matrices[index];
    const std::string name = target.module + std::string(suffix);
    switch (target.piece) {
      case mlx::Piece::whole: return add_whole(name, {matrix.shape, {{index, 0, matrix.rows}}, {}});
      case mlx::Piece::expert:
        if (!sources_[name].experts.emplace(target.expert, index).second) {
          return fail("convert-experts", fmt::format("tensor '{}'", matrix.name),
                      "names an expert that is there already");
        }
        return {};
      case mlx::Piece::gate_up_stack: break;
    }
    if (matrix.shape.size() != 3 || matrix.shape[1] % 2 != 0) {
      return fail("convert-experts", fmt::format("tensor '{}'", matrix.name),
                  "is no stack [experts, 2 × width, hidden] of gate and up matrices");
    }
    const u64 width = matrix.shape[1] / 2;
    Source gate{{matrix.shape[0], width, matrix.shape[2]}, {}, {}};
    Source up = gate;
    for (u64 expert = 0; expert < matrix.shape[0]; ++expert) {
      gate.parts.push_back({index, expert * 2 * width, width});
      up.parts.push_back({index, expert * 2 * width + width, width});
    }
    std::string up_name = name;
    up_name.replace(up_name.find("ffn_gate_exps"), 13, "ffn_up_exps");
    MU_TRY(add_whole(name, std::move(gate)));
    return add_whole(up_name, std::move(up));
  }

  Status add_whole(const std::string& name, Source source) {
    if (!sources_.emplace(name, std::move(source)).second) {
      return fail("convert-unmapped", fmt::format("tensor '{}'", name), "has two sources in the directory");
    }
    return {};
  }

  Status stack_experts() {
    for (auto& [name, source] : sources_) {
      if (source.experts.empty()) continue;
      if (!source.parts.empty()) {
        return fail("convert-experts", fmt::format("tensor '{}'", name), "comes stacked and one by one");
      }
      const SourceMatrix& first = model_.matrices[source.experts.begin()->second];
      u64 next = 0;
      for (const auto& [number, index] : source.experts) {
        const SourceMatrix& matrix = model_.matrices[index];
        if (number != next++) {
          return fail("convert-experts", fmt::format("tensor '{}'", name), fmt::format("lacks expert {}", next - 1));
        }
        if (matrix.shape != first.shape || matrix.values.type != first.values.type ||
            matrix.quantized != first.quantized || matrix.scales.type != first.scales.type ||
            matrix.biases.type != first.biases.type) {
          return fail("convert-experts", fmt::format("tensor '{}'", matrix.name),
                      "has another shape or type than the first expert, and one GGUF tensor has to hold them all");
        }
        source.parts.push_back({index, 0, matrix.rows});
      }
      source.shape = first.shape;
      source.shape.insert(source.shape.begin(), next);
    }
    return {};
  }

  // Tied embeddings: docs/conversion.md.
  Status choose_output_head() {
    const OutputHead policy = model_.architecture->output;
    if (const auto head = sources_.find("output.weight"); head != sources_.end()) {
      MU_ASSIGN(const bool is_embedding, embedding_is_head(head->second));
      if (is_embedding) {
        result_.left_out.push_back("lm_head.weight (the embedding is the output head)");
        sources_.erase(head);
      } else if (policy == OutputHead::never) {
        return fail("convert-output-head", "tensor 'lm_head.weight'",
                    "differs from the embedding, and the loader of this architecture takes no output head");
      }
    }
    if (policy == OutputHead::always) {
      if (const auto embedding = sources_.find("token_embd.weight"); embedding != sources_.end()) {
        sources_.emplace("output.weight", embedding->second);
      }
    }
    return {};
  }

  // Is `head` there although the embedding serves? Tied models say so. Gemma's are tied by default, so one that says
  // nothing, or has no place for another head, is asked for its bytes.
  Result<bool> embedding_is_head(const Source& head) const {
    const std::optional<bool> tied = model_.config.tie_word_embeddings;
    if (tied.value_or(false)) return true;
    if (!model_.hf_architecture->norm_plus_one) return false;
    if (!tied && model_.architecture->output == OutputHead::never) return true;
    const auto embedding = sources_.find("token_embd.weight");
    if (embedding == sources_.end()) return false;
    return same_content(model_.matrices[head.parts.front().matrix],
                        model_.matrices[embedding->second.parts.front().matrix]);
  }

  Result<bool> same_content(const SourceMatrix& a, const SourceMatrix& b) const {
    if (a.shape != b.shape || a.quantized != b.quantized) return false;
    for (const auto& part : {&SourceMatrix::values, &SourceMatrix::scales, &SourceMatrix::biases}) {
      const StoredTensor& left = a.*part;
      const StoredTensor& right = b.*part;
      if (left.type != right.type || left.bytes != right.bytes) return false;
      MU_ASSIGN(const bool same,
                same_bytes(model_.source(left), left.offset, model_.source(right), right.offset, left.bytes));
      if (!same) return false;
    }
    return true;
  }

  Status make_rope_tensors() {
    const hf::Rope& rope = model_.config.rope;
    if (!rope.scaling) return {};
    const u64 n_rot = result_.parameters.n_rot;
    const hf::RopeScaling& scaling = *rope.scaling;
    if (scaling.type == "llama3") {
      if (model_.architecture->name != "llama") {
        return fail("convert-rope", "rope_scaling", "is of type llama3, which the loader reads for llama only");
      }
      Llama3Rope p;
      p.factor = scaling.factor.value_or(p.factor);
      p.low_freq_factor = scaling.low_freq_factor.value_or(p.low_freq_factor);
      p.high_freq_factor = scaling.high_freq_factor.value_or(p.high_freq_factor);
      p.original_context = scaling.original_max_position_embeddings.value_or(
          static_cast<double>(model_.config.original_max_position_embeddings.value_or(8192)));
      generated_["rope_freqs.weight"] = llama3_rope_freqs(rope.theta.value_or(default_rope_theta(model_)), n_rot, p);
    } else if (scaling.type == "longrope" || scaling.type == "su") {
      if (!model_.architecture->has_rope_tensors) {
        return fail("convert-rope", "rope_scaling",
                    "is longrope, which the loader does not read for this architecture");
      }
      for (const auto& [name, factors] : {std::pair{"rope_factors_long.weight", &scaling.long_factor},
                                          std::pair{"rope_factors_short.weight", &scaling.short_factor}}) {
        if (factors->size() != n_rot / 2) {
          return fail("convert-rope", "rope_scaling",
                      fmt::format("has {} factors for {}, {} are needed", factors->size(), name, n_rot / 2));
        }
        generated_[name].assign(factors->begin(), factors->end());
      }
    }
    return {};
  }

  Status place(const ExpectedTensor& expected) {
    MappedTensor tensor;
    tensor.name = expected.name;
    tensor.must_be_f32 = expected.must_be_f32;
    tensor.ne = expected.ne;
    if (const auto made = generated_.find(expected.name); made != generated_.end()) {
      tensor.generated = std::move(made->second);
      generated_.erase(made);
      result_.tensors.push_back(std::move(tensor));
      return {};
    }
    const auto found = sources_.find(expected.name);
    if (found == sources_.end()) {
      if (expected.presence != Presence::required) return {};
      return fail("convert-missing", fmt::format("tensor '{}'", expected.name), "has no source in the directory");
    }
    const Source& source = found->second;
    std::vector<u64> ne = reversed(source.shape);
    // The shared expert's router is stored as [1, n_embd].
    while (ne.size() > expected.ne.size() && ne.back() == 1) ne.pop_back();
    if (ne != expected.ne) {
      return fail(
          "convert-shape", fmt::format("tensor '{}'", expected.name),
          fmt::format("would have shape {}, the hyper-parameters ask for {}", shape_text(ne), shape_text(expected.ne)));
    }
    tensor.parts = source.parts;
    const bool is_query = expected.name.find(".attn_q.") != std::string::npos;
    const bool is_key = expected.name.find(".attn_k.") != std::string::npos;
    if (model_.hf_architecture->permutes_qk && !model_.config.bool_field("rope_traditional").value_or(false) &&
        (is_query || is_key)) {
      tensor.permuted_heads = is_query ? result_.parameters.n_head : result_.parameters.n_head_kv;
    }
    tensor.add_one = model_.hf_architecture->norm_plus_one && expected.name.ends_with("norm.weight");
    result_.tensors.push_back(std::move(tensor));
    sources_.erase(found);
    return {};
  }

  Status refuse_leftovers() {
    for (const auto& [name, source] : sources_) {
      unmapped_.push_back(source.parts.empty() ? name : model_.matrices[source.parts.front().matrix].name);
    }
    if (unmapped_.empty()) return {};
    std::sort(unmapped_.begin(), unmapped_.end());
    constexpr std::size_t shown = 10;
    std::string list;
    for (std::size_t i = 0; i < std::min(shown, unmapped_.size()); ++i) list += (i > 0 ? ", " : "") + unmapped_[i];
    if (unmapped_.size() > shown) list += fmt::format(" and {} more", unmapped_.size() - shown);
    return fail("convert-unmapped", {},
                fmt::format("{} tensor{} no place in a GGUF of architecture {}: {}", unmapped_.size(),
                            unmapped_.size() == 1 ? " has" : "s have", model_.architecture->name, list));
  }

  const HfModel& model_;
  TensorMap result_;
  std::unordered_map<std::string, Source> sources_;
  std::unordered_map<std::string, std::vector<float>> generated_;
  std::vector<std::string> unmapped_;
  u64 layers_ = 0;
};

}  // namespace

Result<TensorMap> map_tensors(const HfModel& model) {
  return Mapper(model).map();
}

}  // namespace modelutils
