#include "convert/to_directory/forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/log.h"
#include "convert/to_directory/block_facts.h"
#include "model/mlx/block_form.h"
#include "model/mlx/quantize.h"

namespace modelutils {

namespace {

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

}  // namespace

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

namespace {

constexpr double most_rms = 0.01;  // the threshold of verify --against

class FormChooser {
 public:
  FormChooser(const Catalog& catalog, const std::vector<DirectoryTensor>& tensors, const FormOptions& options,
              unsigned threads)
      : catalog_(catalog), tensors_(tensors), options_(options), threads_(threads) {}

  Result<std::vector<DirectoryForm>> choose() {
    std::vector<DirectoryForm> forms(tensors_.size());
    std::vector<ScanRequest> requests;
    for (const DirectoryTensor& tensor : tensors_) requests.push_back({scan_of(tensor)});
    MU_ASSIGN(facts_, scan_tensors(catalog_, tensors_, requests, threads_));
    MU_TRY(rescan([&](std::size_t i) { return scan_past_foreign_scales(i); }));
    MU_TRY(rescan([&](std::size_t i) { return scan_of_doubtful(i); }));
    choose_order();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      Result<DirectoryForm> form = choose_one(i);
      if (!form) {
        if (form.error().where.empty()) form.error().where = at_tensor(tensors_[i].name);
        return tl::make_unexpected(std::move(form.error()));
      }
      forms[i] = std::move(*form);
      log_debug("{} becomes {}", tensors_[i].name, forms[i].text());
    }
    level_stacks(forms);
    return forms;
  }

 private:
  // Gives plain tensors from one stack, whose names differ only in a number, the same type so that readers can stack
  // them again.
  void level_stacks(std::vector<DirectoryForm>& forms) const {
    std::map<std::pair<std::size_t, std::string>, std::vector<std::size_t>> stacks;
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (forms[i].is_packed() || tensors_[i].parts.size() != 1) continue;
      std::string name = tensors_[i].name;
      std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
      stacks[{tensors_[i].parts.front().source, std::move(name)}].push_back(i);
    }
    for (const auto& stack : stacks) {
      const std::vector<std::size_t>& members = stack.second;
      const auto differs = [&](std::size_t i) { return forms[i].type != forms[members.front()].type; };
      if (std::ranges::none_of(members, differs)) continue;
      for (const std::size_t i : members) forms[i] = plain_of(TensorType::F32, true, {});
    }
  }

  // How a tensor is carried over: plain, as repacked blocks, or as values to be quantised.
  enum class Kind : u8 { plain, blocks, values };

  std::optional<TensorType> type_of(const DirectoryTensor& tensor) const {
    std::optional<TensorType> type;
    for (const RecipePart& part : tensor.parts) {
      const std::optional<TensorType> here = catalog_.tensors[part.source].type;
      if ((type && type != here) || !part.factors.empty()) return std::nullopt;
      type = here;
    }
    return type;
  }

  bool is_quantized(const DirectoryTensor& tensor) const {
    return std::any_of(tensor.parts.begin(), tensor.parts.end(), [&](const RecipePart& part) {
      return type_info(*catalog_.tensors[part.source].type).is_quantized;
    });
  }

  Kind kind_of(const DirectoryTensor& tensor) const {
    if (options_.dequantize || !tensor.may_quantize || !is_quantized(tensor)) return Kind::plain;
    const std::optional<TensorType> type = type_of(tensor);
    const auto params = type ? mlx::exact_params(*type) : std::nullopt;
    return params && !tensor.by_element && tensor.unit % params->group_size == 0 ? Kind::blocks : Kind::values;
  }

  static bool is_affine(TensorType type) { return mlx::exact_params(type)->mode == mlx::Mode::affine; }

  Scan scan_of(const DirectoryTensor& tensor) const {
    switch (kind_of(tensor)) {
      case Kind::blocks: {
        const bool rounds = !options_.exact && options_.scales != TensorType::F32;
        return rounds && may_need_errors(*type_of(tensor)) ? Scan::blocks_and_errors : Scan::blocks;
      }
      case Kind::values: return Scan::values;
      case Kind::plain: break;
    }
    if (has_doubles(tensor)) return Scan::values;  // some values may need more bits than F32 has, so scan them all
    const bool is_given = options_.dequantize || options_.dtype;
    return is_given && !options_.exact ? Scan::none : Scan::values_until_settled;
  }

  // Rescans the tensors for which `scan_of` returns a request other than Scan::none.
  template <typename ScanOf>
  Status rescan(const ScanOf& scan_of) {
    std::vector<ScanRequest> requests(tensors_.size());
    for (std::size_t i = 0; i < requests.size(); ++i) requests[i] = scan_of(i);
    if (std::all_of(requests.begin(), requests.end(), [](const ScanRequest& one) { return one.scan == Scan::none; }))
      return {};
    MU_ASSIGN(const std::vector<BlockFacts> found, scan_tensors(catalog_, tensors_, requests, threads_));
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].scan == Scan::none) continue;
      const u64 foreign_scales = facts_[i].foreign_scales;
      facts_[i] = found[i];
      facts_[i].foreign_scales = foreign_scales;
    }
    return {};
  }

  // Blocks whose scales MLX interprets differently are converted as values.
  ScanRequest scan_past_foreign_scales(std::size_t i) const {
    return {facts_[i].foreign_scales > 0 ? Scan::values : Scan::none, TensorType::F16};
  }

  // The error of few matrices exceeds half a percent. The bound from the first scan may cause an unnecessary second
  // scan, but is never below the real error.
  ScanRequest scan_of_doubtful(std::size_t i) const {
    const Kind kind = kind_of(tensors_[i]);
    const bool is_searched = kind == Kind::values || (kind == Kind::blocks && facts_[i].foreign_scales > 0);
    if (!is_searched || options_.fallback || options_.exact || !facts_[i].finite) return {};
    if (tensors_[i].row_elements() % mlx::search_group != 0) return {};
    constexpr double margin = 0.9;
    const TensorType scales = scales_of_values(facts_[i]);
    const bool is_sure = scales != TensorType::BF16 && facts_[i].lattice_rms() <= margin * most_rms;
    return {is_sure ? Scan::none : Scan::search, scales};
  }

  TensorType scales_of_values(const BlockFacts& facts) const {
    const TensorType wanted = options_.scales.value_or(TensorType::F16);
    return wanted == TensorType::F16 && facts.f16_overflows ? TensorType::F32 : wanted;
  }

  // Unless a block type multiplies several fields, its scales are F16 fields, so F16 holds them exactly unless a bias
  // overflows.
  bool may_need_errors(TensorType type) const {
    return options_.scales == TensorType::BF16 || mlx::has_product_scales(type);
  }

  // Choose one 16-bit type for everything if possible, since mixed types make MLX compute activations in F32. Otherwise
  // go by most packed weights, or by most plain ones if none are packed: a BF16 model with a few F16 norms stays BF16,
  // because its activations may overflow in F16.
  void choose_order() {
    u64 as_bf16 = 0;
    u64 as_f16 = 0;
    u64 plain_as_bf16 = 0;
    u64 plain_as_f16 = 0;  // values that neither type holds become F32 in any case
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Kind kind = kind_of(tensors_[i]);
      if (kind == Kind::blocks && !is_affine(*type_of(tensors_[i]))) continue;
      if (kind != Kind::plain) {
        (kind == Kind::blocks && facts_[i].fits_bf16 ? as_bf16 : as_f16) += tensors_[i].elements();
      } else if (facts_[i].fits_bf16) {
        plain_as_bf16 += tensors_[i].elements();
      } else if (facts_[i].fits_f16) {
        plain_as_f16 += tensors_[i].elements();
      }
    }
    const bool is_bf16 = as_bf16 + as_f16 > 0 ? as_bf16 > as_f16
                         : options_.dtype     ? options_.dtype == TensorType::BF16
                                              : plain_as_bf16 >= plain_as_f16;
    order_ = is_bf16 ? std::array{TensorType::BF16, TensorType::F16} : std::array{TensorType::F16, TensorType::BF16};
  }

  static bool fits(const BlockFacts& facts, TensorType type) {
    return type == TensorType::F32 || (type == TensorType::F16 ? facts.fits_f16 : facts.fits_bf16);
  }

  Result<DirectoryForm> choose_one(std::size_t i) {
    switch (kind_of(tensors_[i])) {
      case Kind::blocks: return of_blocks(tensors_[i], facts_[i]);
      case Kind::values: return of_values(tensors_[i], facts_[i], why_no_blocks(tensors_[i]));
      case Kind::plain: break;
    }
    return plain(tensors_[i], facts_[i]);
  }

  // Returns the reason why a matrix cannot keep its codes.
  std::string why_no_blocks(const DirectoryTensor& tensor) const {
    const std::optional<TensorType> type = type_of(tensor);
    const bool has_factors =
        std::ranges::any_of(tensor.parts, [](const RecipePart& part) { return !part.factors.empty(); });
    if (has_factors) return "MLX has no per-tensor scale";
    if (!type) return "it is made of tensors of several types";
    if (mlx::exact_params(*type)) return "its elements are reordered";
    if (*type == TensorType::Q8_1 || *type == TensorType::Q8_K) {
      return fmt::format("MLX has no form for {}", type_name(*type));
    }
    return "no packed form of MLX has one scale per 16 weights";
  }

  tl::unexpected<Error> inexact(const DirectoryForm& form, std::string_view remedy) const {
    return input_error("convert-inexact",
                       fmt::format("would become {} with an error ({}){}", form.text(), form.reason, remedy));
  }
  tl::unexpected<Error> inexact(const DirectoryForm& form) const {
    return inexact(form, "; --fallback f32 carries it exactly");
  }

  static DirectoryForm plain_of(TensorType type, std::optional<bool> exact, std::string reason) {
    DirectoryForm form;
    form.type = type;
    form.exact = exact;
    form.reason = std::move(reason);
    return form;
  }

  Result<DirectoryForm> of_blocks(const DirectoryTensor& tensor, const BlockFacts& facts) {
    const TensorType type = *type_of(tensor);
    DirectoryForm form;
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

  void set_scales(const BlockFacts& facts, DirectoryForm& form) const {
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
    form.reason = facts.f16_overflows ? "scales are too large for F16" : "16 bits cannot hold its scales";
  }

  static void set_rounded(const BlockFacts& facts, DirectoryForm& form) {
    form.exact = false;
    form.rms = form.type == TensorType::F16 ? facts.f16_rms() : facts.bf16_rms();
    form.reason = fmt::format("scales are rounded to {}", type_name(form.type));
  }

  Result<DirectoryForm> of_values(const DirectoryTensor& tensor, const BlockFacts& facts, std::string reason) {
    if (!facts.finite) return plain_of(TensorType::F32, true, "has values that are not finite");
    const std::optional<FallbackForm>& fallback = options_.fallback;
    if (fallback && fallback->is_plain) {
      const bool exact = fits(facts, fallback->type) && facts.fits_f32;
      DirectoryForm form =
          plain_of(fallback->type, exact ? std::optional(true) : std::nullopt, exact ? std::string() : reason);
      if (options_.exact && !exact) return tl::make_unexpected(inexact(form).value());
      return form;
    }
    DirectoryForm form;
    form.way = fallback ? FormWay::quantize : FormWay::search;
    form.params = fallback ? fallback->params : FallbackForm{}.params;
    form.exact = std::nullopt;
    form.reason = std::move(reason);
    form.type = form.params.mode == mlx::Mode::affine ? scales_of_values(facts) : TensorType::U8;
    if (options_.exact) return tl::make_unexpected(inexact(form).value());
    if (tensor.row_elements() % form.params.group_size != 0) {
      return plain_of(facts.f16_overflows ? TensorType::BF16 : TensorType::F16, std::nullopt,
                      fmt::format("rows do not fill groups of {}", form.params.group_size));
    }
    if (fallback || facts.lattice_rms() <= most_rms) return form;
    const std::string why = form.reason + ", and 8 bits would cost more than 1 %";
    if (facts.f16_rms() <= most_rms) return plain_of(TensorType::F16, std::nullopt, why);
    if (facts.bf16_rms() <= most_rms) return plain_of(TensorType::BF16, std::nullopt, why);
    return plain_of(TensorType::F32, true, why);
  }

  Result<DirectoryForm> plain(const DirectoryTensor& tensor, const BlockFacts& facts) const {
    const std::optional<TensorType> type = type_of(tensor);
    const bool is_stored_so = type && !tensor.by_element && tensor.operation == arch::Operation::none;
    if (is_stored_so && is_integer(*type)) return plain_of(tensor.is_of_experts ? TensorType::I64 : *type, true, {});
    std::optional<TensorType> wanted = options_.dtype && !is_quantized(tensor) ? options_.dtype : options_.dequantize;
    if (!wanted) wanted = options_.dtype;
    if (wanted) return of_type(*wanted, tensor, facts);
    for (const TensorType narrow : order_) {
      if (fits(facts, narrow) && facts.fits_f32) return plain_of(narrow, true, {});
    }
    return of_type(TensorType::F32, tensor, facts);
  }

  // Copies the bits, or converts the values to `wanted`. Sets `exact` only if it must be known now.
  Result<DirectoryForm> of_type(TensorType wanted, const DirectoryTensor& tensor, const BlockFacts& facts) const {
    const bool is_wider = wanted == TensorType::F32 && !has_doubles(tensor);
    const bool is_copy = type_of(tensor) == wanted && tensor.operation == arch::Operation::none;
    const bool is_looked_at = options_.exact || has_doubles(tensor);
    const bool exact = is_wider || is_copy || (is_looked_at && fits(facts, wanted) && facts.fits_f32);
    DirectoryForm form = plain_of(wanted, exact ? std::optional(true) : std::nullopt, {});
    if (exact) return form;
    if (wanted == TensorType::F32 || options_.exact) {
      form.reason = fmt::format("values are rounded to {}", type_name(wanted));
    }
    if (!options_.exact) return form;
    return tl::make_unexpected(inexact(form, {}).value());
  }

  bool has_doubles(const DirectoryTensor& tensor) const {
    return std::any_of(tensor.parts.begin(), tensor.parts.end(),
                       [&](const RecipePart& part) { return catalog_.tensors[part.source].type == TensorType::F64; });
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

std::string DirectoryForm::text() const {
  if (!is_packed()) return std::string(type_name(type));
  const std::string packed =
      fmt::format("{} {}-bit, group {}", mlx::mode_name(params.mode), params.bits, params.group_size);
  return params.mode == mlx::Mode::affine ? fmt::format("{}, {} scales", packed, type_name(type)) : packed;
}

Result<std::vector<DirectoryForm>> choose_forms(const Catalog& catalog, const std::vector<DirectoryTensor>& tensors,
                                                const FormOptions& options, unsigned threads) {
  return FormChooser(catalog, tensors, options, threads).choose();
}

}  // namespace modelutils
