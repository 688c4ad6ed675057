#include "convert/to_bump/bump5_mapping.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "arch/families.h"
#include "base/text.h"
#include "base/types.h"

namespace modelutils {

namespace {

// A matrix's use determines which kernels the engine has for it.
enum class Bump5Use : u8 {
  matrix,         // in a layer, or the output head
  embedding,      // looked up by row; in a tied model also the head
  gemma_gate_up,  // gemma3's gate and up, whose input the engine quantises to Q8_0
};

struct CarriedType {
  TensorType type;
  std::optional<TensorType> uses[3];  // in the order of Bump5Use; nullopt: not supported
};

using enum TensorType;
constexpr std::nullopt_t none = std::nullopt;

// clang-format off
constexpr std::array<CarriedType, 11> carried_types = {{
    //      matrix, embedding, gemma_gate_up
    {F32,  {F32,  F32,  F32}},
    {F16,  {F16,  F32,  F32}},
    {BF16, {F32,  F32,  F32}},
    {Q8_0, {Q8_0, Q8_0, Q8_0}},
    {Q4_K, {Q4_K, Q4_K, none}},
    {Q6_K, {Q6_K, Q6_K, none}},
    {Q5_0, {Q5_0, Q8_0, Q8_0}},
    {Q5_1, {Q5_1, F32,  Q5_1}},
    {Q5_K, {Q5_K, F32,  none}},
    {Q4_0, {Q8_0, Q8_0, Q8_0}},
    {Q4_1, {Q5_1, F32,  Q5_1}},
}};
// clang-format on

// Returns the type to write: the tensor's own, or one that holds the same values exactly. Returns nullopt if the engine
// has no kernel for the type or for any substitute.
std::optional<TensorType> bump5_type(TensorType type, Bump5Use use) {
  const auto found = std::ranges::find(carried_types, type, &CarriedType::type);
  return found == carried_types.end() ? std::nullopt : found->uses[static_cast<std::size_t>(use)];
}

using bump::Dtype;
using bump5::Content;
using bump5::Role;
using bump5::RoleInfo;

std::string written_architectures() {
  std::vector<std::string_view> names;
  for (const arch::Family* family : arch::all_families()) {
    if (!family->engine.rope_layout.empty()) names.push_back(family->gguf);
  }
  return joined(names);
}

constexpr u64 most_rows = ~u32{0};

class Mapper {
 public:
  Mapper(const gguf::SplitSet& set, const BumpRequest& request)
      : set_(set), request_(request), index_(set.files.front().document) {}

  Result<Bump5Mapping> map() {
    MU_ASSIGN(arch::Facts stated, arch::read_facts(index_, set_.files.front()));
    mapping_.family = arch::find_gguf_family(index_.architecture(), false);
    if (mapping_.family == nullptr || mapping_.family->engine.rope_layout.empty()) {
      mapping_.family = nullptr;
      refuse_key(
          "gguf2bump-architecture", "general.architecture",
          fmt::format("is '{}', which C-Kernel-Engine does not run as a dense text model; BUMPWGT5 is written for {}",
                      index_.architecture(), written_architectures()));
      mapping_.hyper.stated = std::move(stated);
      return std::move(mapping_);
    }
    source_.emplace(set_, request_, mapping_.refusals);
    std::optional<BumpHyperParameters> hyper =
        read_bump_hyper_parameters(std::move(stated), request_, mapping_.refusals);
    if (hyper) {
      mapping_.hyper = std::move(*hyper);
      MU_TRY(map_model());
    }
    if (!mapping_.refusals.empty()) mapping_.entries.clear();
    return std::move(mapping_);
  }

 private:
  void refuse_key(std::string code, std::string_view key, std::string message) {
    mapping_.refusals.add(std::move(code), "key", key, std::move(message));
  }

  Status map_model() {
    const bump::Dimensions& d = mapping_.hyper.dimensions;
    check_numbers();
    const LocatedTensor* embedding = source_->find("token_embd.weight");
    const u64 vocab = embedding != nullptr && embedding->ne.size() == 2 ? embedding->ne[1] : 1;
    if (vocab > most_rows) source_->refuse("gguf2bump-shape", embedding->name, "has more than 2^32 - 1 rows");
    mapping_.hyper.dimensions.vocab = vocab;
    if (embedding != nullptr) {
      MU_ASSIGN(mapping_.vocabulary, read_bump5_vocabulary(set_, index_, vocab, mapping_.refusals));
    }
    bump5::Header& header = mapping_.header;
    header.num_layers = d.layers;
    header.vocab_size = vocab;
    header.embed_dim = header.aligned_embed = d.embed;
    header.intermediate = header.aligned_intermediate = d.intermediate;
    header.context_len = d.context;
    header.num_heads = d.heads;
    header.num_kv_heads = d.kv_heads;
    header.head_dim = header.aligned_head = d.head_dim;
    header.aligned_context = bump::aligned_context(d.context);
    if (mapping_.vocabulary) {
      header.num_merges = mapping_.vocabulary->merges.size() / 12;
      header.vocab_bytes = mapping_.vocabulary->strings.size();
    }
    mapping_.features = {source_->find("output.weight") != nullptr, mapping_.vocabulary != nullptr,
                         mapping_.family->engine.has_post_norms, mapping_.family->engine.has_qk_norms};
    map_entries();
    for (const LocatedTensor* tensor : source_->left_over()) {
      source_->set_aside(*tensor,
                         tensor->name == "rope_freqs.weight" ? "C-Kernel-Engine cannot scale single frequencies"
                                                             : reason_without_place(tensor->name, 5),
                         mapping_.unplaced);
    }
    return {};
  }

  // Checks the numbers that the engine's configuration needs.
  void check_numbers() {
    const BumpHyperParameters& hyper = mapping_.hyper;
    if (!hyper.rms_eps || !std::isfinite(*hyper.rms_eps)) {
      refuse_key("gguf2bump-key", hyper.stated.norm_epsilon.name,
                 "is missing or not a finite number, but the engine needs it");
    }
    if (!std::isfinite(hyper.rope_theta)) {
      refuse_key("gguf2bump-key", hyper.stated.rope_base.name, "is not a finite number");
    }
    if (hyper.rope_dimensions > hyper.dimensions.head_dim || hyper.rope_dimensions % 2 != 0) {
      refuse_key("gguf2bump-key", hyper.stated.rotated.name,
                 fmt::format("is {}, it must be even and at most {}, the length of a head", hyper.rope_dimensions,
                             hyper.dimensions.head_dim));
    }
    mapping_.scaling = rope_scaling_keys(hyper.stated);
    const RopeScalingKeys& scaling = mapping_.scaling;
    const bool is_linear = scaling.type == "linear" && scaling.factor && std::isfinite(*scaling.factor);
    if (!scaling.type.empty() && (!is_linear || mapping_.family->engine.is_gemma)) {
      refuse_key(
          "gguf2bump-rope-scaling", hyper.stated.rope_scaling.name,
          fmt::format("is '{}'{}, but C-Kernel-Engine computes {} for {}", scaling.type,
                      scaling.type == "linear" && !is_linear ? " without a factor" : "",
                      mapping_.family->engine.is_gemma ? "no scaling" : "only none and linear", mapping_.family->gguf));
    }
    mapping_.sliding_window = hyper.stated.window.number().value_or(0);
  }

  void map_entries() {
    const std::vector<bump5::Slot> slots = bump5::slots_of(mapping_.header.num_layers, mapping_.features);
    std::vector<Dtype> dtypes;
    std::vector<Bump5Entry> entries;
    // A forged block_count creates slots, but no recipes for tensors that do not exist.
    for (const bump5::Slot& slot : slots) {
      Bump5Entry out;
      out.entry.slot = slot;
      const bool is_complete = map_entry(out);
      dtypes.push_back(out.entry.dtype);
      if (is_complete && mapping_.refusals.empty()) entries.push_back(std::move(out));
    }
    if (!mapping_.refusals.empty()) return;
    const auto laid_out = bump5::lay_out(mapping_.header, mapping_.features, dtypes);
    if (!laid_out) {
      mapping_.refusals.add("gguf2bump-size", {}, {}, "the file would be larger than 2^62 bytes");
      return;
    }
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i].entry = (*laid_out)[i];
    mapping_.entries = std::move(entries);
    mapping_.file_size = laid_out->back().offset + laid_out->back().size;
  }

  bool map_entry(Bump5Entry& out) {
    const bump::Dimensions& d = mapping_.hyper.dimensions;
    const u64 queries = d.heads * d.head_dim;
    const u64 keys = d.kv_heads * d.head_dim;
    switch (out.entry.slot.role) {
      case Role::token_emb: return matrix(out, {d.embed, d.vocab}, Bump5Use::embedding);
      case Role::output_weight: return matrix(out, {d.embed, d.vocab}, Bump5Use::matrix);
      case Role::vocab_offsets: return literal(out, &Bump5Vocabulary::offsets);
      case Role::vocab_strings: return literal(out, &Bump5Vocabulary::strings);
      case Role::vocab_scores: return literal(out, &Bump5Vocabulary::scores);
      case Role::vocab_types: return literal(out, &Bump5Vocabulary::types);
      case Role::vocab_merges: return literal(out, &Bump5Vocabulary::merges);
      case Role::wq: return matrix(out, {d.embed, queries}, Bump5Use::matrix);
      case Role::wk:
      case Role::wv: return matrix(out, {d.embed, keys}, Bump5Use::matrix);
      case Role::wo: return matrix(out, {queries, d.embed}, Bump5Use::matrix);
      case Role::w1: return gate_and_up(out);
      case Role::w2: return matrix(out, {d.intermediate, d.embed}, Bump5Use::matrix);
      case Role::bq: return vector(out, 0, queries, false);
      case Role::bk:
      case Role::bv: return vector(out, 0, keys, false);
      case Role::b1: {
        const bool gate = vector(out, 0, d.intermediate, false);
        const bool up = vector(out, 1, d.intermediate, false);
        return gate && up;
      }
      case Role::bo:
      case Role::b2: return vector(out, 0, d.embed, false);
      case Role::q_norm:
      case Role::k_norm: return vector(out, 0, d.head_dim, true);
      case Role::final_ln_bias: return zeros(out, d.embed);
      case Role::ln1_gamma:
      case Role::ln2_gamma:
      case Role::post_attention_norm:
      case Role::post_ffn_norm:
      case Role::final_ln_weight: return vector(out, 0, d.embed, true);
    }
    return false;
  }

  std::string source_name(const Bump5Entry& out, std::size_t which) const {
    const RoleInfo& role = bump5::role_info(out.entry.slot.role);
    if (!role.in_layer) return std::string(role.sources[which]);
    const std::string name = block_tensor_name(out.entry.slot.layer, role.sources[which]);
    // Some files name the last norm of gemma3's layers differently.
    if (role.role == Role::post_ffn_norm && source_->find(name) == nullptr) {
      const std::string other = block_tensor_name(out.entry.slot.layer, "post_ffn_norm.weight");
      if (source_->find(other) != nullptr) return other;
    }
    return name;
  }

  static bool zeros(Bump5Entry& out, u64 elements) {
    BumpPart part;
    part.zeros = elements * 4;
    out.parts.push_back(part);
    return true;
  }

  bool literal(Bump5Entry& out, std::string Bump5Vocabulary::*bytes) {
    BumpPart part;
    part.kind = BumpPart::Kind::literal;
    part.literal = std::shared_ptr<const std::string>(mapping_.vocabulary, &((*mapping_.vocabulary).*bytes));
    out.parts.push_back(std::move(part));
    return true;
  }

  bool vector(Bump5Entry& out, std::size_t which, u64 length, bool required) {
    const std::string name = source_name(out, which);
    const LocatedTensor* tensor = source_->take(name, {length}, required);
    if (tensor == nullptr) return !required && zeros(out, length);
    if (!source_->is_plain_vector(*tensor)) return false;
    mapping_.has_attention_biases |= out.entry.slot.role == Role::bq;
    out.parts.push_back(part_as(*tensor, TensorType::F32));
    out.sources.push_back(name);
    return true;
  }

  // Adds the tensor to the entry; returns the type that it is written as.
  std::optional<TensorType> add_matrix(Bump5Entry& out, const std::string& name, std::vector<u64> ne, Bump5Use use) {
    const LocatedTensor* tensor = source_->take(name, std::move(ne), true);
    if (tensor == nullptr) return std::nullopt;
    const std::optional<TensorType> type = bump5_type(tensor->type, use);
    if (!type) {
      mapping_.refusals.add(
          "gguf2bump-type", "tensor", name,
          fmt::format("is {}, which C-Kernel-Engine has no kernel for {}; quantise the model to {} first (a GGUF file "
                      "with F16 or F32 weights, or llama-quantize --allow-requantize)",
                      type_name(tensor->type), use == Bump5Use::gemma_gate_up ? "in gemma3's gate and up" : "at all",
                      use == Bump5Use::gemma_gate_up ? "Q8_0" : "Q8_0, Q6_K or Q4_K"),
          fmt::format("it, of type {}", type_name(tensor->type)));
      return std::nullopt;
    }
    if (*type != tensor->type) ++mapping_.substitutes[{tensor->type, *type}];
    out.parts.push_back(part_as(*tensor, *type));
    out.sources.push_back(name);
    return type;
  }

  bool matrix(Bump5Entry& out, std::vector<u64> ne, Bump5Use use) {
    const auto type = add_matrix(out, source_name(out, 0), std::move(ne), use);
    if (type) out.entry.dtype = bump::dtype_of(*type).value_or(Dtype::fp32);
    return type.has_value();
  }

  bool gate_and_up(Bump5Entry& out) {
    const bump::Dimensions& d = mapping_.hyper.dimensions;
    const Bump5Use use = mapping_.family->engine.is_gemma ? Bump5Use::gemma_gate_up : Bump5Use::matrix;
    const auto gate = add_matrix(out, source_name(out, 0), {d.embed, d.intermediate}, use);
    const auto up = add_matrix(out, source_name(out, 1), {d.embed, d.intermediate}, use);
    if (!gate || !up) return false;
    if (*gate != *up) {
      source_->refuse("gguf2bump-gate-up", source_name(out, 1),
                      fmt::format("is written as {}, but '{}' as {}; w1 holds both and has a single dtype",
                                  type_name(*up), out.sources.front(), type_name(*gate)));
      return false;
    }
    out.entry.dtype = bump::dtype_of(*gate).value_or(Dtype::fp32);
    return true;
  }

  const gguf::SplitSet& set_;
  const BumpRequest& request_;
  const gguf::Index index_;
  Bump5Mapping mapping_;
  std::optional<BumpSource> source_;
};

}  // namespace

Result<Bump5Mapping> map_gguf_to_bump5(const gguf::SplitSet& set, const BumpRequest& request) {
  return Mapper(set, request).map();
}

}  // namespace modelutils
