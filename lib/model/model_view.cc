#include "model/model_view.h"
#include "forms/foreign_forms.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include "arch/families.h"
#include "arch/names.h"
#include "base/checked_math.h"
#include "gguf/keys.h"
#include "hf/tensor_names.h"
#include "model/format.h"
#include "model/gguf_catalog.h"
#include "model/safetensors_catalog.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

Status out_of_range(const ViewTensor& tensor) {
  return input_error("model-range", "the requested range lies outside the tensor", at_tensor(tensor.name));
}

}  // namespace

ModelView ModelView::of_gguf(std::string path, gguf::SplitSet set) {
  ModelView view;
  view.path_ = std::move(path);
  view.gguf_ = std::make_unique<gguf::SplitSet>(std::move(set));
  view.catalog_ = std::make_unique<Catalog>(gguf_catalog(*view.gguf_));
  view.findings_ = view.gguf_->findings;
  for (const gguf::SetFile& file : view.gguf_->files) {
    view.findings_.add_all(file.document.findings);
  }
  view.architecture_ = gguf::Index(view.gguf_->files.front().document).architecture();
  for (std::size_t i = 0; i < view.catalog_->tensors.size(); ++i) {
    const CatalogTensor& stored = view.catalog_->tensors[i];
    ViewTensor tensor;
    tensor.name = stored.name;
    tensor.type = stored.type;
    tensor.ne = stored.ne;
    tensor.stored = i;
    tensor.form = form_of(*view.catalog_, stored);
    view.tensors_.push_back(std::move(tensor));
  }
  view.index_tensors();
  return view;
}

ModelView ModelView::of_safetensors(std::string path, SafetensorsModel model) {
  ModelView view;
  view.path_ = std::move(path);
  view.safetensors_ = std::make_unique<SafetensorsModel>(std::move(model));
  const SafetensorsModel& opened = *view.safetensors_;
  view.catalog_ = std::make_unique<Catalog>(safetensors_catalog(opened.set));
  view.catalog_->format = format_info(opened.is_model_directory() ? Format::mlx : Format::safetensors).name;
  view.findings_ = opened.set.all_findings();
  if (opened.config) {
    view.architecture_ = opened.config->architecture.empty() ? opened.config->model_type : opened.config->architecture;
  }
  const std::vector<CatalogTensor>& stored = view.catalog_->tensors;
  std::vector<std::vector<u64>> shapes(stored.size());
  std::vector<mlx::TensorRef> refs;
  refs.reserve(stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    shapes[i] = reversed(stored[i].ne);
    refs.push_back({stored[i].name, stored[i].type, shapes[i]});
    ViewTensor tensor;
    tensor.name = stored[i].name;
    tensor.type = stored[i].type;
    tensor.ne = stored[i].ne;
    tensor.stored = i;
    tensor.form = form_of(*view.catalog_, stored[i]);
    view.tensors_.push_back(std::move(tensor));
  }
  Modules modules = find_stored_modules(refs, opened.quantization, opened.foreign);
  for (Module& module : modules.list) {
    const auto plane = [&](std::size_t i) { return plane_of(*view.catalog_, stored[i]); };
    if (const Status settled = settle_foreign_form(refs, opened.foreign, plane, module); !settled) {
      modules.findings.add(without_path(settled.error(), Scope::model));
      module.decodable = false;
    }
    module.for_each_part([&](std::size_t part) { view.tensors_[part].is_part = true; });
    if (!module.decodable) continue;
    ViewTensor& weight = view.tensors_[module.weight()];
    weight.ne = reversed(module.shape);
    weight.form = *module.form;
    weight.planes = module.planes;
  }
  view.findings_.add_all(modules.findings);
  view.index_tensors();
  return view;
}

void ModelView::index_tensors() {
  by_name_.reserve(tensors_.size());
  const arch::Family* family = nullptr;
  if (gguf_) {
    family = arch::find_family(gguf::Index(gguf_->files.front().document));
  } else if (config()) {
    family = arch::find_family(*config());
  }
  if (family != nullptr) names_ = std::make_unique<arch::Names>(*family);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    ViewTensor& tensor = tensors_[i];
    tensor.elements = checked_product(tensor.ne).value_or(0);
    if (!tensor.is_part) parameters_ = checked_add(parameters_, tensor.elements).value_or(parameters_);
    by_name_.emplace(tensor.name, i);
  }
  // Names as in a file win over derived ones, so these come second.
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (gguf_) {
      auto other = names_ ? names_->source_tensor(tensors_[i].name) : std::nullopt;
      if (other) by_name_.emplace(std::move(*other), i);
      continue;
    }
    std::string canonical = hf::canonical_name(tensors_[i].name);
    if (auto target = names_ ? names_->gguf_tensor(canonical) : std::nullopt) by_name_.emplace(std::move(*target), i);
    by_name_.emplace(std::move(canonical), i);
  }
}

const ViewTensor* ModelView::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::optional<std::string> ModelView::gguf_name(const ViewTensor& tensor) const {
  if (gguf_) return std::string(tensor.name);
  if (!names_ || tensor.is_part) return std::nullopt;
  return names_->gguf_tensor(hf::canonical_name(tensor.name));
}

Status ModelView::read_bytes(const ViewTensor& tensor, u64 offset, MutableBytes out) const {
  const CatalogTensor& stored = catalog_->tensors[tensor.stored];
  if (!fits(offset, out.size(), stored.bytes)) return out_of_range(tensor);
  return catalog_->files[stored.file].source->read_exact(stored.offset + offset, out);
}

MatrixValues ModelView::values(const ViewTensor& tensor) const {
  StoredMatrix matrix = matrix_of(*catalog_, catalog_->tensors[tensor.stored]);
  if (tensor.is_packed()) {
    matrix.form = tensor.form;
    matrix.elements = tensor.elements;
    for (std::size_t i = 1; i < max_planes; ++i) {
      if (tensor.planes[i] != no_tensor) matrix.planes[i] = plane_of(*catalog_, catalog_->tensors[tensor.planes[i]]);
    }
  }
  if (!tensor.ne.empty()) matrix.columns = tensor.ne.front();
  return MatrixValues(std::move(matrix), tensor.name, catalog_->files[catalog_->tensors[tensor.stored].file].path);
}

Status ModelView::read_values(const ViewTensor& tensor, u64 first, std::span<float> out) const {
  if (!fits(first, out.size(), tensor.elements)) return out_of_range(tensor);
  return values(tensor).read_values(first, out);
}

namespace {

Result<ModelView> only_if_sound(ModelView view) {
  if (const Finding* broken = first_container_error(view.findings())) {
    Error error = with_path(*broken, view.path());
    error.message = broken->message;
    return tl::make_unexpected(std::move(error));
  }
  return view;
}

}  // namespace

Result<ModelView> open_view(const std::string& path) {
  MU_ASSIGN(PathProbe probe, probe_path(path, OutsideLinks::warn));
  if (probe.format == Format::gguf) {
    MU_ASSIGN(gguf::SplitSet set, gguf::open_set(path, probe.links, std::move(probe.opened.file)));
    return only_if_sound(ModelView::of_gguf(path, std::move(set)));
  }
  MU_ASSIGN(SafetensorsModel model,
            open_safetensors_model(path, ModulesWanted::if_quantized, probe.links, std::move(probe.opened)));
  if (model.config_error && model.set.is_directory) return tl::make_unexpected(std::move(*model.config_error));
  return only_if_sound(ModelView::of_safetensors(path, std::move(model)));
}

std::string type_text(const ViewTensor& tensor) {
  return form_info(tensor.form).text(tensor.form);
}

}  // namespace modelutils
