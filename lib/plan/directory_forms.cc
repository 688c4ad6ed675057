#include "plan/directory_forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/log.h"
#include "mlx/block_form.h"
#include "plan/block_facts.h"

namespace modelutils {

namespace {

constexpr double most_rms = 0.01;  // as verify --against has it

struct NamedFallback {
  std::string name;
  FallbackForm form;
};
const std::vector<NamedFallback>& all_fallbacks() {
  static const std::vector<NamedFallback> all = [] {
    std::vector<NamedFallback> list;
    for (const u32 bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
      for (const u32 group : {32u, 64u, 128u}) {
        list.push_back({fmt::format("affine{}-g{}", bits, group),
                        {.type = TensorType::F16, .params = {mlx::Mode::affine, bits, group}}});
      }
    }
    for (const mlx::Mode mode : {mlx::Mode::mxfp4, mlx::Mode::mxfp8, mlx::Mode::nvfp4}) {
      list.push_back({std::string(mlx::mode_name(mode)), {.params = mlx::default_params(mode)}});
    }
    list.push_back({"bf16", {.is_plain = true, .type = TensorType::BF16}});
    list.push_back({"f16", {.is_plain = true, .type = TensorType::F16}});
    list.push_back({"f32", {.is_plain = true, .type = TensorType::F32}});
    return list;
  }();
  return all;
}

class Chooser {
 public:
  Chooser(const Catalog& catalog, const std::vector<DirectoryTensor>& tensors, const FormOptions& options,
          unsigned threads)
      : catalog_(catalog), tensors_(tensors), options_(options), threads_(threads) {}

  Result<std::vector<StoredForm>> choose() {
    std::vector<StoredForm> forms(tensors_.size());
    std::vector<Look> looks;
    for (const DirectoryTensor& tensor : tensors_) looks.push_back(look_of(tensor));
    MU_ASSIGN(facts_, look_at_tensors(catalog_, tensors_, looks, threads_));
    choose_order();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      Result<StoredForm> form = choose_one(i);
      if (!form) {
        if (form.error().where.empty()) form.error().where = at_tensor(tensors_[i].name);
        return tl::make_unexpected(std::move(form.error()));
      }
      forms[i] = std::move(*form);
      log_debug("{} becomes {}", tensors_[i].name, forms[i].text());
    }
    return forms;
  }

 private:
  // What a tensor is on its way to.
  enum class Kind : u8 { plain, blocks, values };

  std::optional<TensorType> type_of(const DirectoryTensor& tensor) const {
    std::optional<TensorType> type;
    for (const DirectoryPart& part : tensor.parts) {
      const std::optional<TensorType> here = catalog_.tensors[part.tensor].type;
      if (type && type != here) return std::nullopt;
      type = here;
    }
    return type;
  }

  bool is_quantized(const DirectoryTensor& tensor) const {
    return std::any_of(tensor.parts.begin(), tensor.parts.end(), [&](const DirectoryPart& part) {
      return type_info(*catalog_.tensors[part.tensor].type).is_quantized;
    });
  }

  Kind kind_of(const DirectoryTensor& tensor) const {
    if (options_.dequantize || !tensor.may_quantize || !is_quantized(tensor)) return Kind::plain;
    const std::optional<TensorType> type = type_of(tensor);
    const auto params = type ? mlx::exact_params(*type) : std::nullopt;
    return params && !tensor.by_element && tensor.unit % params->group_size == 0 ? Kind::blocks : Kind::values;
  }

  static bool is_affine(TensorType type) { return mlx::exact_params(type)->mode == mlx::Mode::affine; }

  Look look_of(const DirectoryTensor& tensor) const {
    switch (kind_of(tensor)) {
      case Kind::blocks: {
        const bool rounds = !options_.exact && options_.scales != TensorType::F32;
        return rounds && may_need_errors(*type_of(tensor)) ? Look::blocks_and_errors : Look::blocks;
      }
      case Kind::values: return Look::values;
      case Kind::plain: break;
    }
    return options_.dequantize || options_.dtype ? Look::none : Look::values_until_settled;
  }

  // Scales of these types are products, which 16 bits hardly ever hold; others fit F16 unless they overflow.
  bool may_need_errors(TensorType type) const {
    if (options_.scales == TensorType::BF16) return true;
    switch (type) {
      case TensorType::Q4_K:
      case TensorType::Q5_K:
      case TensorType::IQ4_XS:
      case TensorType::IQ2_XXS:
      case TensorType::IQ3_XXS:
      case TensorType::IQ3_S:
      case TensorType::IQ1_S:
      case TensorType::IQ1_M: return true;
      default: return false;
    }
  }

  // One type for everything if there is one: other types next to it make the activations F32. Else that of most packed
  // weights, or of the plain ones if there are none.
  void choose_order() {
    u64 as_bf16 = 0;
    u64 as_f16 = 0;
    bool all_plain = options_.dtype.value_or(TensorType::BF16) == TensorType::BF16;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Kind kind = kind_of(tensors_[i]);
      if (kind == Kind::blocks && !is_affine(*type_of(tensors_[i]))) continue;
      if (kind != Kind::plain) {
        (kind == Kind::blocks && facts_[i].fits_bf16 ? as_bf16 : as_f16) += tensors_[i].elements();
      } else if (facts_[i].fits_f16 && !facts_[i].fits_bf16) {  // what neither holds is F32, whatever the others are
        all_plain = false;
      }
    }
    const bool is_bf16 = as_bf16 + as_f16 > 0 ? as_bf16 > as_f16 : all_plain;
    order_ = is_bf16 ? std::array{TensorType::BF16, TensorType::F16} : std::array{TensorType::F16, TensorType::BF16};
  }

  static bool fits(const BlockFacts& facts, TensorType type) {
    return type == TensorType::F32 || (type == TensorType::F16 ? facts.fits_f16 : facts.fits_bf16);
  }

  Result<StoredForm> choose_one(std::size_t i) {
    switch (kind_of(tensors_[i])) {
      case Kind::blocks: return of_blocks(tensors_[i], facts_[i]);
      case Kind::values:
        return of_values(tensors_[i], facts_[i], "no packed form of MLX has one scale for each 16 weights");
      case Kind::plain: break;
    }
    return plain(tensors_[i], facts_[i]);
  }

  tl::unexpected<Error> inexact(const StoredForm& form) const {
    return input_error(
        "convert-inexact",
        fmt::format("would become {} with an error ({}); --fallback f32 carries it exactly", form.text(), form.reason));
  }

  static StoredForm plain_of(TensorType type, std::optional<bool> exact, std::string reason) {
    StoredForm form;
    form.type = type;
    form.exact = exact;
    form.reason = std::move(reason);
    return form;
  }

  Result<StoredForm> of_blocks(const DirectoryTensor& tensor, const BlockFacts& facts) {
    const TensorType type = *type_of(tensor);
    StoredForm form;
    form.way = FormWay::blocks;
    form.params = *mlx::exact_params(type);
    if (form.params.mode != mlx::Mode::affine) {
      if (facts.foreign_scales > 0) {
        return of_values(tensor, facts,
                         fmt::format("{} scale bytes have another meaning in MLX", facts.foreign_scales));
      }
      form.type = TensorType::U8;
      return form;
    }
    if (!facts.finite) return plain_of(TensorType::F32, true, "has block scales that are not finite");
    form.merged = facts.merged;
    form.params.group_size *= form.merged;
    if (type == TensorType::Q4_1) form.params.bits = facts.code_bits <= 3 ? 2 : facts.code_bits <= 7 ? 3 : 4;
    set_scales(facts, form);
    if (!options_.exact || *form.exact) return form;
    if (options_.fallback && options_.fallback->is_plain && options_.fallback->type == TensorType::F32) {
      return plain_of(TensorType::F32, true, form.reason);
    }
    return tl::make_unexpected(inexact(form).value());
  }

  void set_scales(const BlockFacts& facts, StoredForm& form) const {
    if (options_.scales) {
      form.type = *options_.scales;
      if (fits(facts, form.type)) return;
      if (form.type == TensorType::F16 && facts.f16_overflows) {
        form.type = TensorType::F32;
        form.reason = "scales are too large for F16";
        return;
      }
      return set_rounded(facts, form);
    }
    for (const TensorType type : order_) {
      form.type = type;
      if (fits(facts, type)) return;
    }
    form.type = TensorType::F16;
    if (!options_.exact && !facts.f16_overflows && facts.f16_rms() <= most_rms) return set_rounded(facts, form);
    form.type = TensorType::F32;
    form.reason = facts.f16_overflows ? "scales are too large for F16" : "16 bits do not hold its scales";
  }

  static void set_rounded(const BlockFacts& facts, StoredForm& form) {
    form.exact = false;
    form.rms = form.type == TensorType::F16 ? facts.f16_rms() : facts.bf16_rms();
    form.reason = fmt::format("scales are rounded to {}", type_name(form.type));
  }

  Result<StoredForm> of_values(const DirectoryTensor& tensor, const BlockFacts& facts, std::string reason) {
    if (!facts.finite) return plain_of(TensorType::F32, true, "has values that are not finite");
    const std::optional<FallbackForm>& fallback = options_.fallback;
    if (fallback && fallback->is_plain) {
      const bool exact = fits(facts, fallback->type);
      StoredForm form =
          plain_of(fallback->type, exact ? std::optional(true) : std::nullopt, exact ? std::string() : reason);
      if (options_.exact && !exact) return tl::make_unexpected(inexact(form).value());
      return form;
    }
    StoredForm form;
    form.way = fallback ? FormWay::quantize : FormWay::search;
    form.params = fallback ? fallback->params : FallbackForm{}.params;
    form.exact = std::nullopt;
    form.reason = std::move(reason);
    form.type = form.params.mode == mlx::Mode::affine ? options_.scales.value_or(TensorType::F16) : TensorType::U8;
    if (form.type == TensorType::F16 && facts.f16_overflows) form.type = TensorType::F32;
    if (options_.exact) return tl::make_unexpected(inexact(form).value());
    if (tensor.shape.back() % form.params.group_size == 0) return form;
    return plain_of(facts.f16_overflows ? TensorType::BF16 : TensorType::F16, std::nullopt,
                    fmt::format("rows do not fill groups of {}", form.params.group_size));
  }

  Result<StoredForm> plain(const DirectoryTensor& tensor, const BlockFacts& facts) const {
    const std::optional<TensorType> type = type_of(tensor);
    const bool is_stored_so = type && !tensor.by_element && tensor.operation == arch::Operation::none;
    if (is_stored_so && is_integer(*type)) return plain_of(*type, true, {});
    std::optional<TensorType> wanted = options_.dtype && !is_quantized(tensor) ? options_.dtype : options_.dequantize;
    if (!wanted) wanted = options_.dtype;
    if (wanted) {
      const bool exact = wanted == TensorType::F32 || (type == wanted && tensor.operation == arch::Operation::none);
      StoredForm form = plain_of(*wanted, exact ? std::optional(true) : std::nullopt, {});
      if (exact || !options_.exact) return form;
      form.reason = fmt::format("values are rounded to {}", type_name(*wanted));
      return tl::make_unexpected(inexact(form).value());
    }
    for (const TensorType narrow : order_) {
      if (fits(facts, narrow)) return plain_of(narrow, true, {});
    }
    return plain_of(TensorType::F32, true, {});
  }

  static bool is_integer(TensorType type) {
    return type == TensorType::I8 || type == TensorType::I16 || type == TensorType::I32 || type == TensorType::I64;
  }

  const Catalog& catalog_;
  const std::vector<DirectoryTensor>& tensors_;
  const FormOptions& options_;
  const unsigned threads_;
  std::vector<BlockFacts> facts_;
  std::array<TensorType, 2> order_ = {TensorType::BF16, TensorType::F16};
};

}  // namespace

std::string StoredForm::text() const {
  if (!is_packed()) return std::string(type_name(type));
  const std::string packed =
      fmt::format("{} {}-bit, group {}", mlx::mode_name(params.mode), params.bits, params.group_size);
  return params.mode == mlx::Mode::affine ? fmt::format("{}, {} scales", packed, type_name(type)) : packed;
}

std::optional<FallbackForm> fallback_form(std::string_view name) {
  for (const NamedFallback& known : all_fallbacks()) {
    if (known.name == name) return known.form;
  }
  return std::nullopt;
}

std::vector<std::string> fallback_names() {
  std::vector<std::string> names;
  for (const NamedFallback& known : all_fallbacks()) names.push_back(known.name);
  return names;
}

Result<std::vector<StoredForm>> choose_forms(const Catalog& catalog, const std::vector<DirectoryTensor>& tensors,
                                             const FormOptions& options, unsigned threads) {
  return Chooser(catalog, tensors, options, threads).choose();
}

}  // namespace modelutils
