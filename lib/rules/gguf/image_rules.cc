#include "rules/gguf/image_rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/image_models.h"
#include "base/name_index.h"
#include "base/text.h"
#include "formats/gguf/document.h"
#include "model/image_tensors.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

// Parameters whose leading dimensions of 1 llama-quantize drops. ComfyUI compares shapes exactly.
struct LeadingDimension {
  std::string_view architecture;
  std::string_view name;  // end of the tensor's name
  std::size_t dims;
};
constexpr LeadingDimension leading_dimensions[] = {
    {"aura", "positional_encoding", 3}, {"aura", "register_tokens", 3}, {"lumina2", "x_pad_token", 2},
    {"lumina2", "cap_pad_token", 2},    {"sd3", "pos_embed", 3},        {"wan", "modulation", 3},
};

class ImageRules {
 public:
  explicit ImageRules(const gguf::SplitSet& set)
      : set_(set), keys_(set.files.front().document), layout_(arch::image_layout(set)) {
    for (const gguf::SetFile& file : set.files) {
      for (const gguf::TensorInfo& tensor : file.document.tensors) tensors_.push_back(&tensor);
    }
    // stable-diffusion.cpp writes no architecture, and reads what ComfyUI refuses.
    refused_ = keys_.architecture().empty() ? Severity::warning : Severity::error;
  }

  FindingLog check() {
    check_architecture();
    check_five_dims();
    check_original_shapes();
    check_parameters();
    check_scales();
    return std::move(log_);
  }

 private:
  // ComfyUI-GGUF compares the key with a list, and then recognises the model by its tensors.
  void check_architecture() {
    const gguf::KeyValue* entry = keys_.key("general.architecture");
    const std::string_view stated = keys_.architecture();
    if (entry == nullptr || stated.empty() || tensors_.empty()) return;
    std::vector<std::string_view> names;
    for (const gguf::TensorInfo* tensor : tensors_) names.push_back(tensor->name);
    const arch::ImageModel* found = arch::image_layout(names).model;
    const arch::ImageModel* known = arch::find_image_model(stated);
    if (found == nullptr) return;  // newer than the table
    if (known == nullptr && !arch::is_any_image_model(stated)) {
      log_.error(
          Scope::model, "gguf-image-architecture",
          fmt::format("is '{}', but the tensors are those of {}: ComfyUI-GGUF refuses the file", stated, found->name),
          at_key(entry->key), entry->offset);
    } else if (known != nullptr && known != found) {
      log_.warning(Scope::model, "gguf-image-architecture",
                   fmt::format("is '{}', but the tensors are those of {}: programs that rely on the key quantise them "
                               "by the wrong rules",
                               stated, found->name),
                   at_key(entry->key), entry->offset);
    }
  }

  // Readers of five dimensions: gguf-py until llama.cpp's pull request 25401 (July 2026), and stable-diffusion.cpp's
  // second reader, which cannot skip arrays.
  void check_five_dims() {
    const gguf::TensorInfo* first = nullptr;
    u64 count = 0;
    for (const gguf::TensorInfo* tensor : tensors_) {
      if (tensor->ne.size() > gguf::ggml_limits.dims && count++ == 0) first = tensor;
    }
    if (count == 0) return;
    const std::vector<gguf::KeyValue>& keys = set_.files.front().document.keys;
    const auto array = std::ranges::find(keys, gguf::ValueType::array, &gguf::KeyValue::type);
    const std::string refused = fmt::format(
        "{} {} five dimensions: ggml and gguf-py since July 2026, with which ComfyUI-GGUF reads, refuse such a file",
        counted(count, "tensor"), verb(count, "has", "have"));
    if (array == keys.end()) {
      log_.note(Scope::model, "gguf-five-dims",
                refused + "; older gguf-py and stable-diffusion.cpp read it (mlx2gguf --max-dims 4 folds the tensors)",
                at_tensor(first->name), first->info_offset);
    } else {
      log_.warning(Scope::model, "gguf-five-dims",
                   refused + fmt::format(", and stable-diffusion.cpp cannot read it because of the array '{}' among "
                                         "the keys: only older gguf-py does",
                                         array->key),
                   at_tensor(first->name), first->info_offset);
    }
  }

  // ComfyUI-GGUF raises a TypeError for other types, and gives the tensor the shape whatever it is.
  void check_original_shapes() {
    NameIndex names;
    for (const gguf::TensorInfo* tensor : tensors_) names.insert(tensor->name);
    for (const gguf::KeyValue& entry : set_.files.front().document.keys) {
      std::string_view name = entry.key;
      if (!name.starts_with(arch::image_shape_key)) continue;
      name.remove_prefix(arch::image_shape_key.size());
      const auto number = names.find(name);
      if (!number) {
        log_.warning(Scope::model, "gguf-image-shape", "belongs to no tensor of the file", at_key(entry.key),
                     entry.offset);
        continue;
      }
      const StatedShape stated = stated_image_shape(set_.files.front(), entry, tensors_[*number]->ne);
      if (stated.problem.empty()) continue;
      log_.error(Scope::model, "gguf-image-shape", stated.problem, at_key(entry.key), entry.offset);
    }
  }

  // ComfyUI-GGUF unpacks the weights of modules. A parameter that is not F32 or F16 reaches the model as bytes; of BF16
  // it repairs one dimension.
  void check_parameters() {
    if (layout_.model == nullptr) return;
    const auto logical = image_tensors(set_, layout_);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!logical[i]) continue;
      const gguf::TensorInfo& tensor = *tensors_[i];
      const std::optional<TensorType> type = tensor.type();
      const bool is_parameter = arch::is_in_image_list(layout_.model->f32, logical[i]->name);
      const bool is_bytes =
          type && (type_info(*type).is_quantized || (*type == TensorType::BF16 && logical[i]->ne.size() > 1));
      if (is_parameter && is_bytes) {
        log_.add(refused_, Scope::model, "gguf-image-parameter",
                 fmt::format("is {}, but ComfyUI-GGUF does not unpack parameters, which must be F32", type_name(*type)),
                 at_tensor(tensor.name), tensor.info_offset);
      }
      for (const LeadingDimension& row : leading_dimensions) {
        if (row.architecture != layout_.model->name || !logical[i]->name.ends_with(row.name)) continue;
        if (logical[i]->ne.size() >= row.dims) continue;
        log_.add(
            refused_, Scope::model, "gguf-image-parameter",
            fmt::format("has {}, but the model's parameter has {}, the first of size 1 in PyTorch's order: ComfyUI "
                        "refuses another shape",
                        counted(logical[i]->ne.size(), "dimension"), row.dims),
            at_tensor(tensor.name), tensor.info_offset);
      }
    }
  }

  // Reports scales that ComfyUI-GGUF's converter has left when it converted ComfyUI's scaled FP8.
  void check_scales() {
    const gguf::TensorInfo* first = nullptr;
    u64 count = 0;
    for (const gguf::TensorInfo* tensor : tensors_) {
      const bool is_scale = tensor->name.ends_with(".scale_weight") || tensor->name.ends_with(".weight_scale");
      if (is_scale && count++ == 0) first = tensor;
    }
    if (count == 0) return;
    log_.warning(Scope::model, "gguf-image-scales",
                 fmt::format("{} of the FP8 model {} left: no reader multiplies the weights by them, so the pictures "
                             "are white; convert the original with mlx2gguf",
                             counted(count, "scale"), verb(count, "is", "are")),
                 at_tensor(first->name), first->info_offset);
  }

  const gguf::SplitSet& set_;
  const gguf::Index keys_;
  const arch::ImageLayout layout_;
  std::vector<const gguf::TensorInfo*> tensors_;
  Severity refused_ = Severity::error;  // of what ComfyUI cannot load
  FindingLog log_;
};

}  // namespace

const Finding* first_image_error(const Findings& findings) {
  const auto found = std::ranges::find_if(findings, [](const Finding& finding) {
    return finding.severity == Severity::error && finding.code == "gguf-image-shape";
  });
  return found == findings.end() ? nullptr : &*found;
}

FindingLog image_findings(const gguf::SplitSet& set) {
  return arch::image_model_of(set).empty() ? FindingLog() : ImageRules(set).check();
}

}  // namespace modelutils
