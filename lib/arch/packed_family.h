// Families as bytes. A table of texts is a table of pointers, and a position-independent program adjusts every pointer
// of its tables whenever it starts. So a family's rows exist only while it is compiled: pack_family() turns them into
// one array of bytes, and a program unpacks only the families that it asks for.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "arch/family.h"

namespace modelutils::arch {

/// Functions of a projector (projector_family.h).
using NumbersInFile = std::vector<u64> (*)(const ConfigWriter&);
using DescribeLink = Status (*)(ConfigWriter& tower, const ConfigWriter& text);

/// A function of a family or of its rows. Functions are not packed. std::variant would do, but clang 14 cannot assign
/// it at compile time.
union FamilyFunction {
  constexpr FamilyFunction() : none(nullptr) {}
#define MU_FUNCTION(Type, name)                         \
  constexpr FamilyFunction(Type given) : name(given) {} \
  operator Type() const {                               \
    return name;                                        \
  }                                                     \
  Type name;
  MU_FUNCTION(decltype(Family::fits), fits)
  MU_FUNCTION(decltype(Family::factor), factor)
  MU_FUNCTION(decltype(Family::config_sizes), config_sizes)
  MU_FUNCTION(Check, check)
  MU_FUNCTION(decltype(ConfigForm::describe), describe)
  MU_FUNCTION(decltype(Key::derive), derive)
  MU_FUNCTION(decltype(Key::derive_layers), derive_layers)
  MU_FUNCTION(decltype(Key::write), write)
  MU_FUNCTION(decltype(Key::read), read)
  MU_FUNCTION(NumbersInFile, numbers_in_file)
  MU_FUNCTION(DescribeLink, describe_link)
#undef MU_FUNCTION
  std::nullptr_t none;
};

/// The number of elements of each kind that a family has.
struct FamilyCounts {
  std::size_t bytes = 0;
  std::size_t functions = 0;
  std::size_t keys = 0;
  std::size_t tensors = 0;
  std::size_t marks = 0;
};

/// The names by which families are found.
struct FamilyNames {
  std::string_view name, gguf, classes, model_types;
};

/// A family as the program stores it: a Family, or a struct that begins with one.
template <typename T>
class Packed {
 public:
  using Names = FamilyNames;

  constexpr Packed(const FamilyCounts& counts, const char* bytes, const FamilyFunction* functions)
      : counts_(counts), bytes_(bytes), functions_(functions) {}

  Names names() const;
  /// Returns the family. The first call in the program unpacks it. Thread-safe.
  const T& unpacked() const;

 private:
  FamilyCounts counts_;
  const char* bytes_;
  const FamilyFunction* functions_;
  mutable std::atomic<const T*> unpacked_ = nullptr;
};
using PackedFamily = Packed<Family>;

// Calls visit(member, …) with all members of a struct in order. If a member is missing here, the program does not
// compile.
template <typename T, typename Struct>
concept Is = std::is_same_v<std::remove_const_t<T>, Struct>;
#define MU_MEMBERS_OF(Struct, ...)                                 \
  constexpr void visit_members(Is<Struct> auto& of, auto& visit) { \
    auto& [__VA_ARGS__] = of;                                      \
    visit(__VA_ARGS__);                                            \
  }
#define MU_MEMBERS MU_MEMBERS_OF
MU_MEMBERS(Key, name, type, fields, symbol, fallback, missing, need, when, loader_default, derive, derive_layers, write,
           read)
MU_MEMBERS(Tensor, name, ne, source, need, bias, when, f32, is_of_experts, plain, stored)
MU_MEMBERS(Mark, symbol, tensor, in_gguf_only)
MU_MEMBERS(Fixed, field, value, severity, because, when)
MU_MEMBERS(LayoutSign, module, telling)
MU_MEMBERS(Relation, left, right, field, because)
MU_MEMBERS(Member, field, value, when)
MU_MEMBERS(ConfigForm, fields, members, describe, model_type, text_model_type, mlx_text_prefix, hf_text_prefix,
           only_mlx_names)
MU_MEMBERS(PredictionForm, tensors, runs, sizes, numbers, parts)
MU_MEMBERS(EngineFacts, rope_layout, has_qk_norms, has_post_norms, is_gemma)
MU_MEMBERS(TokenizerFacts, pre, pre_of_merges, pre_of_ranks, never_prefixes_space, infills_by_text, user_ends_turn,
           infill_vocabulary, vocabulary_without_bos, composes, composes_not)
MU_MEMBERS(Windows, rule, period, global_first, always, missing, fixed, is_required, only_with_layers,
           in_prediction_blocks)
MU_MEMBERS(Recurrence, layers, state, interval, keeps_keys, keeps_history)
MU_MEMBERS(CacheFacts, has_cache, is_latent, windows, recurrence, prediction, may_lack_prediction, indexer,
           cached_layers, shares_last_layers, has_loops, has_router_layer, has_gated_queries, layer_input_width,
           layer_input_has_key, has_alternating_updates, has_encoder)
MU_MEMBERS(Family, name, gguf, classes, model_types, about, wanted_name, fits, config_sizes, gguf_when, gguf_pre,
           gguf_key, gguf_lacks, layer_prefixes, hf_layer_prefix, outer_prefixes, left_out, lost_unless_zero, renames,
           activation, activation_names, head, pooling, tied_by_default, class_has_defaults, layers_may_differ, factor,
           hf_rope_theta, mlx_rope_theta, mlx_scales_rope, loader_needs, loads_without, applies_weight_scales, keys,
           layer_tensors, first_tensors, last_tensors, prediction, layout_signs, renormalises_experts, unrotated_every,
           layer_counts, marks, fixed, relations, checks, config, cache, engine, tokenizer)
#undef MU_MEMBERS

template <typename T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <typename T>
concept Text = std::is_base_of_v<std::string_view, T>;
template <typename T>
concept Function = std::is_pointer_v<T>;

/// Writes a family's members one after another: numbers with seven bits per byte, each text after its length, each
/// table after its row count. Without an output buffer it only counts the bytes.
class FamilyPacker {
 public:
  constexpr explicit FamilyPacker(std::string_view renames, char* bytes = nullptr, FamilyFunction* functions = nullptr)
      : renames_(renames), bytes_(bytes), functions_(functions) {}

  constexpr const FamilyCounts& counts() const { return counts_; }

  template <typename... Members>
  constexpr void operator()(const Members&... members) {
    (add(members), ...);
  }

 private:
  constexpr void add_byte(char byte) {
    if (bytes_ != nullptr) bytes_[counts_.bytes] = byte;
    ++counts_.bytes;
  }
  constexpr void add_number(u64 number) {
    for (; number >= 128; number /= 128) add_byte(static_cast<char>(number % 128 + 128));
    add_byte(static_cast<char>(number));
  }
  constexpr void add(const Number auto& number) {
    if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(number)>>) {
      add_number(std::bit_cast<u64>(number));
    } else {
      add_number(static_cast<u64>(number));
    }
  }
  constexpr void add(const Text auto& text) {
    add_number(text.size());
    if (bytes_ != nullptr) std::copy(text.begin(), text.end(), bytes_ + counts_.bytes);
    counts_.bytes += text.size();
  }
  constexpr void add(const SourceText& source) {
    if (renames_.empty()) return add(std::string_view(source));
    add(std::string_view(with_renames(source, renames_)));
  }
  constexpr void add(const Function auto& function) {
    add_byte(function != nullptr);
    if (function == nullptr) return;
    if (functions_ != nullptr) functions_[counts_.functions] = FamilyFunction(function);
    ++counts_.functions;
  }
  template <typename Row>
  constexpr void add(std::span<const Row> rows) {
    add_number(rows.size());
    for (const Row& row : rows) add(row);
    if constexpr (std::is_same_v<Row, Key>) counts_.keys += rows.size();
    if constexpr (std::is_same_v<Row, Tensor>) counts_.tensors += rows.size();
    if constexpr (std::is_same_v<Row, Mark>) counts_.marks += rows.size();
  }
  template <typename Row, std::size_t N>
  constexpr void add(const Few<Row, N>& rows) {
    add_number(static_cast<u64>(rows.end() - rows.begin()));
    for (const Row& row : rows) add(row);
  }
  template <typename Struct>
  constexpr void add(const Struct& row) {
    visit_members(row, *this);
  }

  std::string_view renames_;
  char* bytes_;
  FamilyFunction* functions_;
  FamilyCounts counts_;
};

constexpr std::string_view renames_of(const Family& family) {
  return family.renames;
}
constexpr std::string_view renames_of(const auto& family) {
  return family.rows.renames;
}

constexpr FamilyCounts pack_family(const auto& family, char* bytes = nullptr, FamilyFunction* functions = nullptr) {
  FamilyPacker packer(renames_of(family), bytes, functions);
  visit_members(family, packer);
  return packer.counts();
}

/// The members of a family, which must be constexpr. The functions are stored separately, because only they need
/// relocations.
template <const auto& family>
struct FamilyData {
  static constexpr FamilyCounts counts = pack_family(family);
  struct Packed {
    std::array<char, counts.bytes> bytes = {};
    std::array<FamilyFunction, counts.functions> functions = {};
  };
  static constexpr Packed packed = [] {
    Packed made;
    pack_family(family, made.bytes.data(), made.functions.data());
    return made;
  }();
  static constexpr auto bytes = packed.bytes;
  static constexpr auto functions = packed.functions;
};

}  // namespace modelutils::arch

/// Defines the packed form of a constant in this namespace.
#define MU_PACKED(Type, name)                                                                \
  const Packed<Type> packed_##name(FamilyData<name>::counts, FamilyData<name>::bytes.data(), \
                                   FamilyData<name>::functions.data())
/// Defines the family of this name, which is constexpr in this namespace, for list.h.
#define MU_FAMILY(name) MU_PACKED(Family, name)
