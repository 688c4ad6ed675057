#include "verify/against/against.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "arch/families.h"
#include "arch/image_models.h"
#include "arch/prediction_rows.h"
#include "base/byte_reader.h"
#include "base/parallel.h"
#include "base/text.h"
#include "compare/key_changes.h"
#include "compare/measure.h"
#include "convert/to_directory/block_facts.h"
#include "convert/to_directory/fused.h"
#include "convert/to_directory/tensor_map.h"
#include "convert/to_gguf/forms.h"
#include "convert/to_gguf/image_map.h"
#include "convert/to_gguf/projector_map.h"
#include "convert/to_gguf/reranker.h"
#include "convert/to_gguf/rows.h"
#include "convert/to_gguf/tensor_map.h"
#include "model/catalog.h"
#include "model/mlx/block_form.h"
#include "rules/gguf/rules.h"
#include "tensor/types.h"
#include "tensor/value_sums.h"
#include "verify/against/bump5_gguf.h"
#include "verify/against/bump_gguf.h"

namespace modelutils {

namespace {

constexpr std::string_view scale_suffix = ".scale";
constexpr std::string_view weight_suffix = ".weight";

u64 factors_of(const Tensor& scale) {
  return std::max<u64>(scale.bytes / sizeof(float), 1);
}

}  // namespace

Scales find_scales(const Catalog& catalog, const std::function<bool(std::string_view name)>& is_own) {
  Scales scales;
  for (const Tensor& tensor : catalog.tensors) {
    if (!tensor.name.ends_with(scale_suffix) || tensor.type != TensorType::F32 || !tensor.is_readable()) continue;
    if (is_own(tensor.name)) continue;
    std::string weight(tensor.name.substr(0, tensor.name.size() - scale_suffix.size()));
    weight += weight_suffix;
    const Tensor* found = catalog.find(weight);
    const u64 factors = factors_of(tensor);
    if (found == nullptr || (factors != 1 && (found->ne.size() != 3 || found->ne[2] != factors))) continue;
    scales.emplace(std::move(weight), &tensor);
  }
  return scales;
}

ScaledValues::ScaledValues(const Catalog& catalog, const Tensor& weight, const Tensor& scale)
    : TensorValues(plain_form(TensorType::F32), catalog.values_of(weight).elements(), catalog.values_of(weight).unit()),
      catalog_(catalog),
      scale_(scale),
      values_(catalog.values_of(weight)),
      of_factor_(std::max<u64>(elements() / factors_of(scale), 1)) {}

Status ScaledValues::read(u64 first, u64 count, StoredRows& out) const {
  std::vector<std::byte> factors(static_cast<std::size_t>(factors_of(scale_) * sizeof(float)));
  MU_TRY(catalog_.read(scale_, 0, factors));
  StoredRows stored;
  MU_TRY(values_.read(first, count, stored));
  std::vector<float> values(static_cast<std::size_t>(count * unit()));
  values_.decode(stored, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const u64 factor = std::min<u64>((first * unit() + i) / of_factor_, factors_of(scale_) - 1);
    values[i] *= load<float>(factors.data() + factor * sizeof(float));
  }
  out = {};
  out.values().resize(values.size() * sizeof(float));
  std::memcpy(out.values().data(), values.data(), out.values().size());
  return {};
}

void ScaledValues::decode(const StoredRows& rows, std::span<float> out) const {
  std::memcpy(out.data(), rows.values().data(), out.size_bytes());
}

namespace {

constexpr double tolerated_error = 0.01;

// One of the two models, with the names that both share.
class Side : public ComparedTensors {
 public:
  bool has(std::string_view name) const { return std::ranges::find(list(), name, &Tensor::name) != list().end(); }

  /// Returns the form that stores a tensor's values unchanged; nullopt if the values are computed.
  virtual std::optional<StoredForm> form_of(const Tensor& tensor) const = 0;
  virtual std::string form_text(const Tensor& tensor) const = 0;
  /// True if a tensor of that form can represent every value exactly. Errors: reading.
  virtual Result<bool> fits(const Tensor& tensor, const StoredForm& form) const = 0;
  /// The difference allowed for a value of a computed tensor.
  virtual double tolerance(const Tensor& /*tensor*/) const { return 0; }

 protected:
  std::vector<Tensor> tensors_;  // owns the tensors of list_
};

// A GGUF, or tensors of any container under their own names.
class CatalogSide : public Side {
 public:
  /// Treats tensors "X.scale" as factors unless `other`, a directory, has them as tensors of its own.
  explicit CatalogSide(Catalog catalog, const Side* other = nullptr) : catalog_(std::move(catalog)) {
    if (other != nullptr) scales_ = find_scales(catalog_, [&](std::string_view name) { return other->has(name); });
    for (const Tensor& tensor : catalog_.tensors) {
      if (tensor.is_readable() && !is_scale(tensor)) tensors_.push_back(tensor);
    }
    list_ = tensors_;
  }

  const Catalog& catalog() const { return catalog_; }

  std::string_view problem(const Tensor& tensor) const override {
    return tensor.type ? "" : "has a type that cannot be decoded";
  }
  std::unique_ptr<TensorValues> values(const Tensor& tensor) const override {
    const auto scale = scales_.find(tensor.name);
    if (scale != scales_.end()) return std::make_unique<ScaledValues>(catalog_, tensor, *scale->second);
    return std::make_unique<MatrixValues>(catalog_.values_of(tensor));
  }
  std::optional<StoredForm> form_of(const Tensor& tensor) const override { return catalog_.form_of(tensor); }
  std::string form_text(const Tensor& tensor) const override {
    const StoredForm form = catalog_.form_of(tensor);
    return form_info(form).text(form);
  }
  Result<bool> fits(const Tensor& tensor, const StoredForm& form) const override {
    if (form.kind == FormKind::mlx) return fits_packing(tensor, form);
    return form.is_plain() && (form.type() == tensor.type || form.type() == TensorType::F32);
  }

 private:
  bool is_scale(const Tensor& tensor) const {
    return std::ranges::any_of(scales_, [&](const auto& scale) { return scale.second->name == tensor.name; });
  }

  // True if a packed matrix uses the block type's own packing and its scales can hold the block scales exactly.
  Result<bool> fits_packing(const Tensor& tensor, const StoredForm& form) const {
    const mlx::Params& packed = form.params;
    const std::optional<mlx::Params> params = tensor.type ? mlx::exact_params(*tensor.type) : std::nullopt;
    if (!params || params->mode != packed.mode) return false;
    if (params->mode == mlx::Mode::affine) {
      const bool is_narrowed = tensor.type == TensorType::Q4_1 && packed.bits < params->bits;
      if (packed.bits != params->bits && !is_narrowed) return false;
    }
    MU_ASSIGN(const BlockFacts facts, facts_of_blocks(catalog_, tensor, default_threads()));
    if (params->mode != mlx::Mode::affine) return facts.foreign_scales == 0;
    const TensorType scales = form.types[1];
    return facts.finite &&
           (scales == TensorType::F32 || (scales == TensorType::F16 ? facts.fits_f16 : facts.fits_bf16));
  }

  const Catalog catalog_;
  Scales scales_;
};

// True if the file is a reranker whose scores are rows of the output head.
bool has_answers(const gguf::SplitSet& converted) {
  const gguf::Index keys(converted.files.front().document);
  const arch::Family* family = arch::find_family(keys);
  const auto is_score = [](const gguf::TensorInfo& tensor) { return tensor.name == "cls.output.weight"; };
  return family != nullptr && to_gguf::takes_answers(*family) &&
         std::ranges::any_of(converted.files, [&](const gguf::SetFile& file) {
           return std::ranges::any_of(file.document.tensors, is_score);
         });
}

class DirectorySide : public Side {
 public:
  DirectorySide(std::unique_ptr<HfModel> model, TensorMap map) : model_(std::move(model)), map_(std::move(map)) {
    for (const MappedTensor& mapped : map_.tensors)
      tensors_.push_back({.name = mapped.name, .type = {}, .ne = mapped.ne});
    list_ = tensors_;
  }

  // The vision and audio towers instead of the language model.
  static Result<std::unique_ptr<Side>> open_projector(std::shared_ptr<const Model> opened) {
    MU_ASSIGN(ProjectorMap made, map_projector(std::move(opened), std::nullopt));
    return std::make_unique<DirectorySide>(std::move(made.model), std::move(made.map));
  }

  // An image model as the GGUF `converted` would have it: with five dimensions, or folded.
  static Result<std::unique_ptr<Side>> open_image(const std::shared_ptr<const Model>& opened,
                                                  const gguf::SplitSet& converted) {
    to_gguf::ImageOptions options;
    const auto is_deep = [](const gguf::TensorInfo& tensor) { return tensor.ne.size() > gguf::ggml_limits.dims; };
    const bool has_five = std::ranges::any_of(converted.files, [&](const gguf::SetFile& file) {
      return std::ranges::any_of(file.document.tensors, is_deep);
    });
    if (!has_five) options.max_dimensions = gguf::ggml_limits.dims;
    options.architecture = arch::image_model_of(converted);
    if (arch::is_any_image_model(options.architecture)) options.architecture.clear();
    MU_ASSIGN(const auto source, to_gguf::find_image_source(opened->path(), opened->probe.links));
    if (source) {
      MU_ASSIGN(std::optional<to_gguf::ImageMap> made, to_gguf::map_image_model(opened, *source, options));
      if (made) return std::make_unique<DirectorySide>(std::move(made->model), std::move(made->map));
    }
    return input_error("convert-image-model", "is no image or video model", {}, {}, opened->path());
  }

  static Result<std::unique_ptr<Side>> open(std::shared_ptr<const Model> opened, PredictionChoice prediction,
                                            bool is_reranker = false) {
    MU_ASSIGN(std::unique_ptr<HfModel> model, understand_model(std::move(opened), prediction));
    if (is_reranker) {
      FindingLog remarks;
      MU_TRY(to_gguf::find_answers(*model, true, remarks));
    }
    MU_ASSIGN(TensorMap map, map_tensors(*model));
    if (prediction == PredictionChoice::only) {
      const u64 layers = map.sizes.get(arch::symbol::layers);
      std::erase_if(map.tensors,
                    [&](const MappedTensor& tensor) { return arch::block_of(tensor.name).value_or(layers) < layers; });
    }
    return std::make_unique<DirectorySide>(std::move(model), std::move(map));
  }

  std::unique_ptr<TensorValues> values(const Tensor& tensor) const override {
    return values_of(*model_, mapped_of(tensor));
  }
  double tolerance(const Tensor& tensor) const override {
    const MappedTensor& mapped = mapped_of(tensor);
    if (model_->family->gguf != "clip") return 0;
    // Tables that converters compute in single precision, and scales behind an exponential function.
    constexpr double of_tables = 3e-4;
    constexpr double of_scales = 2e-6;
    return mapped.parts.empty() ? of_tables : mapped.operation == arch::Operation::softplus ? of_scales : 0;
  }
  std::optional<StoredForm> form_of(const Tensor& tensor) const override {
    const MappedTensor& mapped = mapped_of(tensor);
    if (mapped.parts.empty()) return std::nullopt;
    const StoredForm& form = matrix_of(mapped).form;
    const bool is_kept = form.is_plain() ? mapped.operation == arch::Operation::none : !mapped.has_computed_rows();
    return is_kept ? std::optional(form) : std::nullopt;
  }
  std::string form_text(const Tensor& tensor) const override {
    const MappedTensor& mapped = mapped_of(tensor);
    return mapped.parts.empty() ? "computed from config.json" : text_with_scales(matrix_of(mapped).form);
  }
  Result<bool> fits(const Tensor& tensor, const StoredForm& form) const override {
    const MappedTensor& mapped = mapped_of(tensor);
    if (mapped.parts.empty()) return true;
    const Weight& matrix = matrix_of(mapped);
    const StoredForm rows = mapped.has_computed_rows() ? plain_form(computed_type(*model_, mapped)) : matrix.form;
    ScaleAnalysis analysis;
    if (!rows.is_plain()) MU_TRY(analyse_tensor(*model_, mapped, rows.kind == FormKind::integers, analysis));
    return carrier_of(rows).carries_exactly(rows, matrix.columns(), analysis, form.type());
  }

 private:
  const MappedTensor& mapped_of(const Tensor& tensor) const { return map_.tensors[place_of(tensor)]; }
  const Weight& matrix_of(const MappedTensor& mapped) const { return model_->matrices[mapped.parts.front().source]; }

  std::unique_ptr<HfModel> model_;
  TensorMap map_;
};

class StrictComparison {
 public:
  StrictComparison(const Side& source, const Side& converted, std::string_view noun, bool head_is_optional)
      : source_(source), converted_(converted), noun_(noun), head_is_optional_(head_is_optional) {}

  Result<FindingLog> compare() {
    const TensorChanges changes = compare_tensors(source_, converted_, {});
    for (const Tensor* tensor : changes.removed) {
      if (!may_be_missing(*tensor)) {
        complain("parity-missing", *tensor, fmt::format("is in the source, but not in the converted {}", noun_));
      }
    }
    for (const TensorPair& pair : changes.reshaped) complain_about_shape(pair);
    for (const Tensor* tensor : changes.added) {
      if (!may_be_missing(*tensor)) {
        complain("parity-extra", *tensor, fmt::format("is in the converted {}, but not in the source", noun_));
      }
    }
    std::vector<TensorPair> pairs;
    for (const TensorPair& pair : changes.same_shape) {
      if (!std::ranges::equal(pair.a->ne, pair.b->ne)) {
        complain_about_shape(pair);
      } else if (const std::string_view problem = converted_.problem(*pair.b); !problem.empty()) {
        complain("parity-type", *pair.b, std::string(problem));
      } else {
        pairs.push_back(pair);
      }
    }
    Status judged;
    measure(
        pairs.size(),
        [&](std::size_t i) {
          return ValuePair{source_.values(*pairs[i].a), converted_.values(*pairs[i].b), 1};
        },
        {default_threads(), nullptr},
        [&](std::size_t i, const Measurement& measured) {
          if (judged) judged = judge(pairs[i], measured);
        });
    MU_TRY(judged);
    return std::move(log_);
  }

 private:
  void complain(std::string_view code, const Tensor& tensor, std::string message) {
    log_.error(Scope::model, code, std::move(message), at_tensor(tensor.name));
  }

  void complain_about_shape(const TensorPair& pair) {
    complain("parity-shape", *pair.a,
             fmt::format("has shape {}, but the source {} {}", shape_text(pair.b->ne),
                         noun_ == "directory" ? "has" : "gives", shape_text(pair.a->ne)));
  }

  bool may_be_missing(const Tensor& tensor) const { return head_is_optional_ && tensor.name == "output.weight"; }

  Status judge(const TensorPair& pair, const Measurement& measured) {
    if (measured.equal_values()) return {};
    if (measured.error) return tl::make_unexpected(*measured.error);
    if (!measured.problem.empty()) {
      complain("parity-type", *pair.a, "cannot be compared: " + measured.problem);
      return {};
    }
    if (measured.sums.unordered == 0 && measured.sums.max_abs <= source_.tolerance(*pair.a)) return {};
    const std::optional<StoredForm> form = converted_.form_of(*pair.b);
    bool exact = false;
    if (form) {
      MU_ASSIGN(exact, source_.fits(*pair.a, *form));
    }
    const ValueSums& sums = measured.sums;
    if (exact) {
      complain("parity-value", *pair.a,
               fmt::format("{} of {} {}; the first is element {}: {} instead of {}", sums.different,
                           counted(measured.elements, "value"), verb(sums.different, "differs", "differ"),
                           measured.first, measured.first_b, measured.first_a));
      return {};
    }
    const bool tolerable = sums.rms() <= tolerated_error && sums.unordered == 0;
    std::string message = fmt::format("is {}, which cannot represent the source exactly: relative RMS error {}{}",
                                      converted_.form_text(*pair.b), error_percent(sums.rms()),
                                      sums.rms() <= tolerated_error ? "" : ", more than 1 %");
    if (sums.unordered > 0) {
      message += fmt::format(", and {} NaN or infinite on one side only", counted(sums.unordered, "value"));
    }
    log_.add(tolerable ? Severity::note : Severity::error, Scope::model, "parity-inexact", std::move(message),
             at_tensor(pair.a->name));
    return {};
  }

  const Side& source_;
  const Side& converted_;
  std::string_view noun_;
  bool head_is_optional_;
  FindingLog log_;
};

// Detects how the conversion treated the blocks that predict further tokens.
PredictionChoice prediction_in(const gguf::SplitSet& set) {
  if (arch::is_prediction_alone(set)) return PredictionChoice::only;
  const gguf::Index keys(set.files.front().document);
  const bool has_blocks = keys.unsigned_value(keys.arch_key("nextn_predict_layers")).value_or(0) > 0;
  return has_blocks ? PredictionChoice::keep : PredictionChoice::drop;
}

}  // namespace

Result<FindingLog> compare_models_strictly(const CheckedModel& checked, const Model& converted, Model source) {
  if (source.gguf) {
    const auto findings = gguf_container_findings(*source.gguf);
    if (const Finding* broken = first_error(findings)) return tl::make_unexpected(with_path(*broken, source.path()));
    MU_TRY(refuse_foreign_types(*source.gguf));
  }
  if (converted.gguf) MU_TRY(refuse_foreign_types(*converted.gguf));
  gguf::SplitSet apart;  // of `made`
  std::unique_ptr<Side> from, made;
  bool head_is_optional = false;
  if (!source.gguf && !converted.gguf) {
    from = std::make_unique<CatalogSide>(source.catalog());
    made = std::make_unique<CatalogSide>(checked.catalog);
    return StrictComparison(*from, *made, "model", false).compare();
  }
  // The directory shows which tensors belong to the model and which are factors of others.
  const bool is_projector = converted.gguf && converted.architecture() == "clip";
  const bool is_image = converted.gguf && !arch::image_model_of(*converted.gguf).empty();
  if (!source.gguf && is_image) {
    MU_ASSIGN(from, DirectorySide::open_image(std::make_shared<const Model>(std::move(source)), *converted.gguf));
  } else if (!source.gguf && is_projector) {
    MU_ASSIGN(from, DirectorySide::open_projector(std::make_shared<const Model>(std::move(source))));
  } else if (!source.gguf) {
    MU_ASSIGN(from, DirectorySide::open(std::make_shared<const Model>(std::move(source)),
                                        prediction_in(*converted.gguf), has_answers(*converted.gguf)));
  }
  if (!converted.gguf) {
    const std::shared_ptr<const Model> borrowed(std::shared_ptr<const Model>(), &converted);
    MU_ASSIGN(made, DirectorySide::open(borrowed, PredictionChoice::by_runtime));
  }
  if (source.gguf) {
    if (made) to_directory::take_fused_apart(*source.gguf);
    auto side = std::make_unique<CatalogSide>(catalog_of(*source.gguf), made.get());
    if (!converted.gguf) {
      MU_ASSIGN(head_is_optional, is_tied(side->catalog()));
    }
    from = std::move(side);
  }
  if (converted.gguf) {
    if (!source.gguf) apart = *converted.gguf;
    const bool was_fused = !source.gguf && to_directory::take_fused_apart(apart);
    made = std::make_unique<CatalogSide>(was_fused ? catalog_of(apart) : checked.catalog, from.get());
  }
  return StrictComparison(*from, *made, converted.gguf ? "file" : "directory", head_is_optional).compare();
}

namespace {

tl::unexpected<Error> no_parity(Format converted, Format source, const std::string& path) {
  return input_error("verify-no-parity",
                     fmt::format("cannot compare {} with {}; model-diff compares any two models",
                                 format_info(converted).noun, format_info(source).noun),
                     {}, {}, path);
}

// Files without config.json are sources of image models only.
Result<FindingLog> compare_image_models(const CheckedModel& checked, const Model& converted, Model source) {
  if (arch::image_model_of(*converted.gguf).empty()) return no_parity(converted.format, source.format, source.path());
  return compare_models_strictly(checked, converted, std::move(source));
}

// Compares a converted model with its source, tensor by tensor.
struct ParityRules {
  Format converted;  // the verified model
  Format source;
  Result<FindingLog> (*compare)(const CheckedModel& checked, const Model& converted, Model source);
};

const std::array parity_table = {
    ParityRules{Format::bump, Format::gguf, compare_bump_with_gguf},
    ParityRules{Format::bump4, Format::gguf, compare_bump5_with_gguf},
    ParityRules{Format::bump5, Format::gguf, compare_bump5_with_gguf},
    ParityRules{Format::gguf, Format::mlx, compare_models_strictly},
    ParityRules{Format::gguf, Format::gguf, compare_models_strictly},
    ParityRules{Format::gguf, Format::safetensors, compare_image_models},
    ParityRules{Format::gguf, Format::pytorch, compare_image_models},
    ParityRules{Format::mlx, Format::gguf, compare_models_strictly},
    ParityRules{Format::safetensors, Format::pytorch, compare_models_strictly},
    ParityRules{Format::pytorch, Format::safetensors, compare_models_strictly},
    ParityRules{Format::mlx, Format::mlx, compare_models_strictly},
};

Result<const ParityRules*> find_parity(Format converted, const PathProbe& source) {
  if (!source.format) return tl::make_unexpected(unknown_format(source));
  for (const ParityRules& rules : parity_table) {
    if (rules.converted == converted && rules.source == source.format) return &rules;
  }
  return no_parity(converted, *source.format, source.path);
}

Result<FindingLog> compare(const CheckedModel& checked, const Model& converted, PathProbe source) {
  MU_ASSIGN(const ParityRules* rules, find_parity(converted.format, source));
  MU_ASSIGN(Model model, open_model(std::move(source)));
  return rules->compare(checked, converted, std::move(model));
}

}  // namespace

FindingLog compare_with_source(const CheckedModel& checked, const Model& converted, const PathProbe& source) {
  Result<FindingLog> found = compare(checked, converted, source);
  if (found) return std::move(*found);
  const Error& error = found.error();
  Finding finding = without_path(error, Scope::model);
  finding.message = fmt::format("--against {}: {}", error.file.empty() ? source.path : error.file, error.message);
  finding.offset.reset();
  FindingLog log;
  log.add(std::move(finding));
  return log;
}

}  // namespace modelutils
