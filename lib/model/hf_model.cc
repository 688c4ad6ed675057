#include "model/hf_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "arch/encoder_rows.h"
#include "arch/families.h"
#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "arch/names.h"
#include "arch/prediction_rows.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/hf/names.h"
#include "model/format.h"
#include "model/forms/foreign_forms.h"
#include "tensor/types.h"

namespace modelutils {

std::string_view reason_text(LeftOutReason reason) {
  switch (reason) {
    case LeftOutReason::other_part:
      return "part of a vision or audio model, which llama.cpp reads from a file of its own";
    case LeftOutReason::prediction: return "part of multi-token prediction (MTP)";
    case LeftOutReason::computed: return "computed at run time";
    case LeftOutReason::activation_scales: return "scales activations, which the output does not quantise";
    case LeftOutReason::tied_copy: return "a copy of the embedding: the model is tied";
    case LeftOutReason::loader_copy: return "a copy that only llama.cpp's loader needs";
    case LeftOutReason::zero_bias: return "all zero, so it adds nothing";
    case LeftOutReason::beside_model: return "part of another model in the file";
    case LeftOutReason::unused_head: return "a head of another task, which the model's vectors do not need";
    case LeftOutReason::lost: return "part of the model, but a GGUF has no place for it";
    case LeftOutReason::beside_weights: return "stored next to the weights";
    case LeftOutReason::in_config: break;
  }
  return "its factors are in config.json";
}

std::string left_out_text(const LeftOut& tensor) {
  return fmt::format("{} ({})", tensor.name, reason_text(tensor.reason));
}

void warn_of_losses(const std::vector<LeftOut>& tensors, FindingLog& findings, bool loses_projector) {
  for (const LeftOutReason reason : {LeftOutReason::other_part, LeftOutReason::prediction}) {
    if (reason == LeftOutReason::other_part && !loses_projector) continue;
    const auto is_one = [&](const LeftOut& tensor) { return tensor.reason == reason; };
    const auto first = std::ranges::find_if(tensors, is_one);
    if (first == tensors.end()) continue;
    const auto count = static_cast<u64>(std::count_if(first, tensors.end(), is_one));
    findings.warning(
        Scope::model, "convert-left-out",
        fmt::format("{} of the model {} not in the output: {}", counted(count, "tensor"), verb(count, "is", "are"),
                    reason == LeftOutReason::prediction
                        ? "multi-token prediction (MTP) layers"
                        : "parts for vision or audio, which llama.cpp reads from a file of its own (mmproj); "
                          "--with-mmproj FILE writes that, too"),
        at_tensor(first->name));
  }
}

namespace {

tl::unexpected<Error> module_error(std::string_view name, std::string message) {
  return input_error("convert-module", std::move(message), at_tensor(name));
}

class MatrixCollector {
 public:
  MatrixCollector(HfModel& model, PredictionChoice prediction)
      : model_(model), opened_(model.opened()), names_(*model.family) {
    const arch::PredictionForm& form = model.family->prediction;
    keeps_prediction_ = !form.tensors.empty() && prediction != PredictionChoice::drop &&
                        (prediction != PredictionChoice::by_runtime || form.runs);
  }

  /// Collects only the tensors whose names in the files fulfil the condition, under these names.
  Status collect_part(const WantedName& is_wanted) {
    is_wanted_ = &is_wanted;
    return collect();
  }

  Status collect() {
    const std::string& method = opened_.quantization.foreign_method;
    const std::string& refusal = opened_.foreign.refusal;
    if (!method.empty() && !refusal.empty()) {
      return refuse_method(
          fmt::format("{} ('{}') cannot be converted; convert the unquantised model", refusal, method));
    }
    const std::optional<std::size_t> unknown = method.empty() ? std::nullopt : first_not_understood();
    if (unknown && !opened_.foreign.is_known) {
      return refuse_method(
          fmt::format("the weights are quantised with '{}', not by MLX, and cannot be converted; "
                      "convert the unquantised model",
                      method));
    }
    if (unknown) {
      const safetensors::Tensor& tensor = opened_.set.tensor(opened_.set.tensors[*unknown]);
      return refuse_method(
          fmt::format("'{}' ({}) has no known form of weights quantised with '{}' and cannot be converted; convert the "
                      "unquantised model",
                      tensor.name, tensor.dtype, method));
    }
    if (const std::optional<Error>& broken = model_.model->weights().broken) {
      return tl::make_unexpected(in_file(*broken, model_.directory));
    }
    const std::vector<bool> is_part = quantization_parts(opened_);
    std::unordered_map<std::size_t, const Module*> by_weight;
    for (const Module& module : opened_.modules.list) by_weight.emplace(module.weight(), &module);
    for (std::size_t i = 0; i < is_part.size(); ++i) {
      if (is_part[i]) continue;
      const std::string_view stored_name = model_.model->catalog().tensors[i].name;
      const auto module = by_weight.find(i);
      if (is_wanted_ != nullptr) {
        if (!(*is_wanted_)(stored_name)) continue;
        const bool is_packed = module != by_weight.end() && module->second->quantized;
        MU_TRY(add(is_packed ? std::string(module->second->path) + ".weight" : std::string(stored_name), i,
                   module == by_weight.end() ? nullptr : module->second));
        continue;
      }
      const std::string name = names_.spelled(module != by_weight.end() ? weight_name(*module->second, stored_name)
                                                                        : hf::canonical_name(stored_name));
      const std::optional<std::string> name_in_block =
          keeps_prediction_ && hf::classify_name(name) != hf::NameClass::derived
              ? arch::name_as_layer(names_, model_.config, name)
              : std::nullopt;
      if (const auto reason = name_in_block ? std::nullopt : reason_to_leave_out(name)) {
        model_.left_out.push_back({std::string(stored_name), *reason});
        continue;
      }
      if (name_in_block) count_block(*name_in_block);
      MU_TRY(add(name_in_block.value_or(name), i, module == by_weight.end() ? nullptr : module->second));
    }
    return {};
  }

 private:
  std::optional<LeftOutReason> reason_to_leave_out(std::string_view name) const {
    if (!opened_.quantization.foreign_method.empty() && is_activation_scale(name)) {
      return LeftOutReason::activation_scales;
    }
    if (arch::is_prediction_layer(names_, model_.config, name)) return LeftOutReason::prediction;
    if (!names_.match(name) && names_.leaves_out(name) && !is_of_classifier(name)) return LeftOutReason::unused_head;
    switch (hf::classify_name(name)) {
      case hf::NameClass::keep: return {};
      case hf::NameClass::prediction: return LeftOutReason::prediction;
      case hf::NameClass::other_modality: return LeftOutReason::other_part;
      case hf::NameClass::derived: break;
    }
    return LeftOutReason::computed;
  }

  // True for another part of a module that a classifier's rows use, such as a bias that llama.cpp does not add.
  bool is_of_classifier(std::string_view name) const {
    return arch::is_classifier(model_.config) &&
           names_.match(std::string(hf::split_name(name).module) + ".weight").has_value();
  }

  void count_block(std::string_view name) {
    const u64 layers = model_.config.block_count.value_or(0);
    const u64 layer = names_.layer_of(name).value_or(layers);
    model_.prediction_blocks = std::max(model_.prediction_blocks, layer + 1 - std::min(layers, layer));
  }

  static bool is_plain(std::optional<TensorType> type) {
    return type == TensorType::F32 || type == TensorType::F16 || type == TensorType::BF16;
  }

  // True for a table of expert numbers, which are integers.
  bool is_of_experts(std::string_view name, TensorType type) const {
    if (type != TensorType::I64 && type != TensorType::I32) return false;
    const std::optional<arch::SourceMatch> found = names_.match(name);
    return found &&
           std::ranges::any_of(*found->uses, [](const arch::SourceUse& use) { return use.row->is_of_experts; });
  }

  tl::unexpected<Error> refuse_method(std::string message) const {
    return input_error("convert-foreign-method", std::move(message), "quantization_config.quant_method", {},
                       model_.config.path);
  }

  // Returns the first tensor of unknown form in a directory that another method quantised; nullopt if there is none.
  std::optional<std::size_t> first_not_understood() const {
    std::vector<bool> known = quantization_parts(opened_);
    for (const Module& module : opened_.modules.list) known[module.weight()] = module.decodable;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (!known[i] && !is_plain(opened_.set.tensor(opened_.set.tensors[i]).type)) return i;
    }
    return std::nullopt;
  }

  // Checks that the tensor has as many bytes as its type and shape require. Decoders rely on this.
  static Status check_place(const std::string& name, const Tensor& tensor) {
    if (tensor.is_readable()) return {};
    return module_error(name, "cannot be read: " + std::string(problem_text(tensor.unreadable)));
  }

  // Adds the planes of a quantised weight other than the codes.
  Status add_planes(const Module& module, Weight& matrix) const {
    if (!module.form) {
      return module_error(matrix.name, "has scales, but no usable quantisation parameters in config.json");
    }
    if (!module.decodable) return module_error(matrix.name, "has scales or biases that do not fit its weight");
    const Weight* const settled = model_.model->weights().of_codes(matrix.codes());
    matrix.form = settled != nullptr ? settled->form : *module.form;
    matrix.ne = settled != nullptr ? settled->ne : reversed(module.shape);
    for (std::size_t i = 1; i < max_planes; ++i) {
      if (form_info(matrix.form).plane(matrix.form, i, matrix.columns()).line_bytes == 0) continue;
      if (module.planes[i] == no_tensor) return module_error(matrix.name, "has scales but no biases");
      matrix.planes[i] = &model_.model->catalog().tensors[module.planes[i]];
      MU_TRY(check_place(matrix.name, *matrix.planes[i]));
    }
    return {};
  }

  Status add(const std::string& name, std::size_t index, const Module* module) {
    const safetensors::Tensor& tensor = opened_.set.tensor(opened_.set.tensors[index]);
    Weight matrix;
    matrix.name = name;
    matrix.planes[0] = &model_.model->catalog().tensors[index];
    MU_TRY(check_place(name, *matrix.planes[0]));
    if (!tensor.type) return module_error(name, fmt::format("has the unknown dtype '{}'", tensor.dtype));
    if (module != nullptr && module->quantized) {
      MU_TRY(add_planes(*module, matrix));
    } else {
      matrix.ne = reversed(tensor.shape);
      const TensorType type = *tensor.type;
      matrix.form = plain_form(type);
      if (!is_plain(type) && !is_of_experts(name, type)) {
        return module_error(
            name,
            fmt::format("is {}; only F32, F16, BF16 and weights quantised by MLX can be converted", type_name(type)));
      }
    }
    if (!matrix.ne.empty() && !checked_product(std::span(matrix.ne).subspan(1))) {
      return module_error(name, "has so many rows that their number does not fit in 64 bits");
    }
    if (matrix.rows() == 0 || matrix.columns() == 0) return module_error(name, "is empty");
    if (matrix.codes().bytes % matrix.rows() != 0) return module_error(name, "has rows of unequal size");
    model_.matrices.push_back(std::move(matrix));
    return {};
  }

  HfModel& model_;
  const SafetensorsModel& opened_;
  arch::Names names_;
  bool keeps_prediction_ = false;
  const WantedName* is_wanted_ = nullptr;
};

// Blocks requested by name must exist, and the family must support them.
Status check_prediction(const HfModel& model, PredictionChoice prediction) {
  const bool is_asked_for = prediction == PredictionChoice::only || prediction == PredictionChoice::keep;
  if (model.config.block_count.value_or(0) + model.prediction_blocks > arch::max_layers) {
    return input_error("convert-mtp",
                       fmt::format("has {} and {} for multi-token prediction (MTP); at most {} together are supported",
                                   counted(model.config.block_count.value_or(0), "layer"),
                                   counted(model.prediction_blocks, "block"), arch::max_layers),
                       {}, {}, model.directory);
  }
  const auto is_block = [](const LeftOut& tensor) { return tensor.reason == LeftOutReason::prediction; };
  if (is_asked_for && model.family->prediction.tensors.empty() && std::ranges::any_of(model.left_out, is_block)) {
    return input_error("convert-mtp",
                       fmt::format("has multi-token prediction (MTP) blocks, which llama.cpp does not support for {}; "
                                   "--mtp drop converts the model without them",
                                   model.family->gguf),
                       {}, {}, model.directory);
  }
  if (prediction != PredictionChoice::only || model.prediction_blocks > 0) return {};
  const u64 stated = model.config.count_field(arch::prediction_fields).value_or(0);
  return input_error("convert-mtp",
                     stated == 0
                         ? std::string("has no multi-token prediction (MTP) block")
                         : fmt::format("config.json announces {} for multi-token prediction (MTP), but {} tensors are "
                                       "missing, because mlx-lm leaves them out; use the published model",
                                       counted(stated, "block"), stated == 1 ? "its" : "their"),
                     {}, {}, model.directory);
}

// llama.cpp computes dense layers after the pooling for few architectures, which have rows for them.
Status check_dense_modules(const HfModel& model) {
  const arch::Names names(*model.family);
  for (const std::string& path : model.config.modules.dense) {
    if (names.match(dense_tensor(path))) continue;
    return input_error(
        "convert-modules",
        fmt::format("is a dense layer behind the model, which llama.cpp does not compute for {}", model.family->gguf),
        {}, {}, model.opened().folder.file(path));
  }
  return {};
}

}  // namespace

HfModel::HfModel(std::shared_ptr<const Model> from)
    : model(std::move(from)),
      config(*model->config()),
      directory(opened().set.path),
      is_mlx(modelutils::is_mlx(opened())) {}

namespace {

const hf::Config& no_config() {
  static const hf::Config config;
  return config;
}

}  // namespace

HfModel::HfModel(std::shared_ptr<const Model> from, const arch::Family& of)
    : model(std::move(from)), config(no_config()), directory(model->path()), family(&of) {}

Result<std::unique_ptr<HfModel>> understand_model(std::shared_ptr<const Model> from, PredictionChoice prediction) {
  const SafetensorsModel& opened = *from->safetensors;
  if (opened.config_error) return tl::make_unexpected(*opened.config_error);
  if (const auto adapter = peft_adapter(opened.folder)) {
    return input_error("convert-peft",
                       fmt::format("is a {}, not a model: merge it into its base model (mlx2gguf BASE --lora ADAPTER), "
                                   "or convert it to a GGUF adapter (mlx2gguf ADAPTER --base BASE)",
                                   adapter->text()),
                       {}, {}, opened.set.path);
  }
  if (!opened.config) {
    return input_error("convert-no-config",
                       "has no config.json, so the kind of model is unknown; pass the model's directory", {}, {},
                       opened.set.path);
  }
  auto model = std::make_unique<HfModel>(std::move(from));
  model->family = arch::find_family(model->config);
  if (model->family == nullptr) {
    const auto known =
        std::ranges::find(arch::not_converted(), model->config.model_type, &arch::NotConverted::model_type);
    return input_error(
        "convert-architecture",
        fmt::format("architecture '{}' (model_type '{}') is not {}", model->config.architecture,
                    model->config.model_type,
                    known != arch::not_converted().end() ? fmt::format("converted: {}", known->because)
                                                         : "among those that are converted (docs/architectures.md)"),
        "architectures", {}, model->config.path);
  }
  log_info("{}: '{}' (model_type '{}') is converted as {}", model->config.path, model->config.architecture,
           model->config.model_type, model->family->gguf);
  if (const auto& refusal = model->config.modules.refusal) return tl::make_unexpected(*refusal);
  MU_TRY(arch::check_stated_sizes(*model->family, model->config));
  MU_TRY(arch::refuse_unsupported(*model->family, model->config, arch::stated_sizes(*model->family, model->config)));
  MU_TRY(check_dense_modules(*model));
  MatrixCollector collector(*model, prediction);
  MU_TRY(collector.collect());
  MU_TRY(check_prediction(*model, prediction));
  return model;
}

Result<std::unique_ptr<HfModel>> understand_part(std::shared_ptr<const Model> from, const arch::Family& family,
                                                 const WantedName& is_wanted) {
  auto model = std::make_unique<HfModel>(std::move(from));
  model->family = &family;
  model->is_mlx = says_mlx(model->opened());
  MatrixCollector collector(*model, PredictionChoice::drop);
  MU_TRY(collector.collect_part(is_wanted));
  return model;
}

}  // namespace modelutils
