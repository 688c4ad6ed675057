#include "listing/safetensors_listing.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_set>

#include "base/checked_math.h"
#include "base/large_pages.h"
#include "forms/foreign_forms.h"
#include "listing/adapter_facts.h"
#include "listing/directory_tokenizer.h"
#include "listing/gguf_summary.h"
#include "listing/safetensors_keys.h"
#include "model/model_view.h"
#include "model/peft_adapter.h"
#include "model/safetensors_catalog.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

using safetensors::Tensor;
using safetensors::TensorRef;

class SafetensorsListing : public ListingSource {
 public:
  explicit SafetensorsListing(const SafetensorsModel& model) : model_(model) {}

  Listing list(const ListingRequest& request) override;
  std::optional<ListedValue> find_value(std::string_view key) override;
  std::optional<ValueSource> values_of(const std::string& tensor) override;
  std::vector<ValueSource> values_of(const Listing& listing) override;
  void each_key_name(bool config_keys, const NameVisitor& visit) const override;
  void each_tensor_name(const NameVisitor& visit) const override;

 private:
  std::string kind() const;
  void list_files(Listing& listing) const;
  void list_keys(Listing& listing, const ListingRequest& request) const;
  void list_tensors(Listing& listing, const ListingRequest& request, const std::vector<u64>& parameters) const;
  void list_modules(Listing& listing, const ListingRequest& request);
  void settle(const Module& module, ListedModule& listed);
  void count_types(Listing& listing, const std::vector<u64>& parameters) const;
  void count_forms(Listing& listing) const;
  u64 bytes_of(std::size_t place) const;
  const ModelView& view();

  const SafetensorsModel& model_;
  std::deque<std::string> texts_;        // storage for the listing's views
  std::deque<std::vector<u64>> shapes_;  // storage for the modules' views
  std::optional<ModelView> view_;
};

// Sums by name, in order of first appearance. Neighbours usually have the same name, so the last entry is tried first.
class Totals {
 public:
  explicit Totals(std::vector<TypeTotal>& totals) : totals_(totals) {}

  void add(std::string_view name, std::optional<TensorType> type, u64 bytes, u64 parameters) {
    if (totals_.empty() || totals_[last_].name != name) {
      const auto [place, is_new] = places_.try_emplace(std::string(name), totals_.size());
      if (is_new) totals_.push_back({std::string(name), type, 0, 0, 0});
      last_ = place->second;
    }
    TypeTotal& total = totals_[last_];
    ++total.tensors;
    total.bytes = *total.bytes + bytes;
    total.parameters = checked_add(*total.parameters, parameters).value_or(*total.parameters);
  }

 private:
  std::vector<TypeTotal>& totals_;
  std::map<std::string, std::size_t> places_;
  std::size_t last_ = 0;
};

std::string SafetensorsListing::kind() const {
  if (!model_.is_model_directory()) {
    if (model_.set.has_checkpoints) return "PyTorch checkpoint";
    if (!model_.set.is_directory) return "safetensors";
    const std::optional<PeftAdapter> adapter = peft_adapter(model_.folder);
    return adapter ? adapter->text() : "directory of safetensors files";
  }
  if (model_.quantization.declared) return "MLX model, quantised";
  const std::string& method = model_.quantization.foreign_method;
  return (is_mlx(model_) ? "MLX model" : "Hugging Face model") +
         (method.empty() ? std::string() : fmt::format(", quantised by {} (not MLX)", method));
}

void SafetensorsListing::list_files(Listing& listing) const {
  std::optional<u64> size = 0;
  for (const safetensors::ShardFile& file : model_.set.files) {
    const safetensors::Document& document = file.document;
    std::optional<u64> file_size = document.file_size;
    if (file_size) *file_size -= document.gathered_bytes;
    listing.files.push_back({file.path, file.base_name, file_size, document.header_bytes, 0, document.data_offset,
                             document.tensors.size()});
    size = size && file_size ? checked_add(*size, *file_size) : std::nullopt;
  }
  listing.facts.file_size = size;
}

void SafetensorsListing::list_keys(Listing& listing, const ListingRequest& request) const {
  std::unordered_set<std::string_view> of_files;
  for (const safetensors::MetadataEntry& entry : model_.set.metadata()) {
    of_files.insert(entry.key);
    if (selects(request.key_globs, entry.key)) {
      listing.keys.push_back({entry.key, gguf::ValueType::string, listing.key_count, entry.offset, entry.value, false});
    }
    ++listing.key_count;
  }
  if (!request.config_keys) return;
  for (std::string& key : st_keys(model_)) {
    if (!of_files.contains(key) && selects(request.key_globs, key)) listing.config_keys.push_back(std::move(key));
  }
}

void SafetensorsListing::list_tensors(Listing& listing, const ListingRequest& request,
                                      const std::vector<u64>& parameters) const {
  const safetensors::ShardSet& set = model_.set;
  const std::vector<bool> parts = quantization_parts(model_);
  listing.tensor_count = set.listed_count();
  if (!request.tensors) return;
  if (request.tensor_globs.empty()) reserve_to_fill(listing.tensors, set.listed_count());
  for (std::size_t place = 0; place < set.listed_count(); ++place) {
    const TensorRef ref = set.listed(place);
    const Tensor& tensor = set.tensor(ref);
    if (!selects(request.tensor_globs, tensor.name)) continue;
    const bool is_repeated = place >= set.tensors.size();
    ListedTensor& listed = listing.tensors.emplace_back();
    listed.name = tensor.name;
    listed.type_name = tensor.dtype;
    listed.type = tensor.type;
    listed.shape = tensor.shape;
    listed.parameters = is_repeated ? tensor.elements().value_or(0) : parameters[place];
    listed.bytes = tensor.bytes();
    listed.data_offset = checked_add(set.file(ref).document.data_offset, tensor.begin).value_or(~u64{0});
    listed.index = place;
    listed.offset = tensor.begin;
    listed.end = tensor.end;
    listed.file = ref.file;
    listed.is_part = !is_repeated && parts[place];
    listed.problem = is_repeated ? "the name appears twice in the model: this is not the first"
                                 : safetensors_tensor_problem(set.file(ref).document, tensor);
  }
}

u64 SafetensorsListing::bytes_of(std::size_t place) const {
  return place == mlx::no_tensor ? 0 : model_.set.tensor(model_.set.tensors[place]).bytes();
}

// Returns the columns that share a scale, for forms other than MLX's; 0 if a scale covers whole rows or if a group's
// columns are not contiguous.
static u64 group_columns(const StoredForm& form) {
  switch (form.kind) {
    case FormKind::integers: return form.integers.is_scattered ? 0 : form.integers.group;
    case FormKind::nvfp4: return 16;
    case FormKind::fp8: return form.scale_columns;
    default: return 0;
  }
}

// Fills in facts that require reading small tensors of the module.
void SafetensorsListing::settle(const Module& module, ListedModule& listed) {
  const ViewTensor* weight = view().find(model_.set.tensor(model_.set.tensors[module.weight()]).name);
  if (weight == nullptr || !weight->is_packed()) return;
  Module settled = module;
  settled.form = weight->form;
  settled.planes = weight->planes;
  settled.shape = reversed(weight->ne);
  const Catalog& catalog = view().catalog();
  const auto symmetric = is_symmetric(settled, [&](std::size_t i) { return plane_of(catalog, catalog.tensors[i]); });
  if (symmetric) listed.symmetric = *symmetric;
  if (settled.form->kind == FormKind::mlx) return;
  listed.bits = static_cast<u32>(form_info(*settled.form).bits(*settled.form));
  listed.group_size = group_columns(*settled.form);
  listed.shape = shapes_.emplace_back(std::move(settled.shape));
  listed.parameters = checked_product(listed.shape);
}

// The sum may exceed 64 bits; it is only displayed, so saturate.
void SafetensorsListing::list_modules(Listing& listing, const ListingRequest& request) {
  listing.module_count = model_.modules.list.size();
  if (!request.tensors) return;
  std::vector<u32> module_of(model_.set.tensors.size(), ListedTensor::no_module);
  for (const Module& module : model_.modules.list) {
    const Tensor& weight = model_.set.tensor(model_.set.tensors[module.weight()]);
    if (!selects(request.tensor_globs, weight.name)) continue;
    if (module.decodable) module_of[module.weight()] = static_cast<u32>(listing.modules.size());
    ListedModule& listed = listing.modules.emplace_back();
    listed.path = module.path;
    listed.type_name = weight.dtype;
    listed.type = weight.type;
    listed.quantized = module.quantized;
    if (module.form && module.form->kind == FormKind::mlx) {
      listed.mode = mlx::mode_name(module.form->params.mode);
      listed.bits = module.form->params.bits;
      listed.group_size = module.form->params.group_size;
    } else if (module.form) {
      listed.mode = form_info(*module.form).name;
      listed.bits = static_cast<u32>(form_info(*module.form).bits(*module.form));
      listed.group_size = group_columns(*module.form);
    }
    listed.shape = module.shape;
    listed.parameters = checked_product(module.shape);
    if (request.zero_points && module.decodable) settle(module, listed);
    listed.bytes = weight.bytes();
    module.for_each_part([&](std::size_t part) { listed.bytes += bytes_of(part); });
  }
  for (ListedTensor& tensor : listing.tensors) {
    if (tensor.index < module_of.size()) tensor.module = module_of[tensor.index];
  }
}

void SafetensorsListing::count_types(Listing& listing, const std::vector<u64>& parameters) const {
  ModelFacts& facts = listing.facts;
  Totals totals(facts.types);
  u64 bytes = 0;
  u64 all = 0;
  for (std::size_t place = 0; place < model_.set.tensors.size(); ++place) {
    const Tensor& tensor = model_.set.tensor(model_.set.tensors[place]);
    bytes += tensor.bytes();
    all = checked_add(all, parameters[place]).value_or(all);
    totals.add(tensor.dtype, tensor.type, tensor.bytes(), parameters[place]);
  }
  facts.tensors = model_.set.tensors.size();
  facts.tensor_bytes = bytes;
  facts.parameters = all;
  // Without usable settings the element count of packed weights is unknown.
  listing.counts_packed_as_stored = std::ranges::any_of(
      model_.modules.list, [](const Module& module) { return module.quantized && !module.decodable; });
  if (all != 0 && !listing.counts_packed_as_stored) {
    facts.bits_per_weight = 8.0 * static_cast<double>(bytes) / static_cast<double>(all);
  }
}

// Counts quantised modules by their form and all other tensors by their dtype.
void SafetensorsListing::count_forms(Listing& listing) const {
  const auto is_packed = [](const Module& module) { return module.quantized; };
  if (std::ranges::none_of(model_.modules.list, is_packed)) return;
  Totals totals(listing.forms);
  std::vector<bool> counted(model_.set.tensors.size());
  for (const Module& module : model_.modules.list) {
    if (!module.quantized) continue;
    const std::string form =
        module.form ? form_info(*module.form).text(*module.form) : "in a form that config.json does not give";
    u64 bytes = bytes_of(module.weight());
    counted[module.weight()] = true;
    module.for_each_part([&](std::size_t part) {
      bytes += bytes_of(part);
      counted[part] = true;
    });
    totals.add(form, std::nullopt, bytes, checked_product(module.shape).value_or(0));
  }
  for (std::size_t place = 0; place < counted.size(); ++place) {
    if (counted[place]) continue;
    const Tensor& tensor = model_.set.tensor(model_.set.tensors[place]);
    totals.add(tensor.dtype, tensor.type, tensor.bytes(), tensor.elements().value_or(0));
  }
}

Listing SafetensorsListing::list(const ListingRequest& request) {
  Listing listing;
  if (model_.config && model_.is_model_directory()) listing.facts = summary_of(*model_.config);
  listing.format = Listing::Format::safetensors;
  listing.path = model_.set.path;
  listing.kind = kind();
  listing.has_tensors = request.tensors;
  listing.names_differ = model_.set.repeated.empty();
  listing.is_unordered = model_.set.is_directory || model_.set.index.has_value();
  list_files(listing);
  list_keys(listing, request);
  const std::vector<u64> parameters = parameters_of_tensors(model_);
  list_tensors(listing, request, parameters);
  list_modules(listing, request);
  count_types(listing, parameters);
  count_forms(listing);
  listing.facts.adapter = adapter_facts(model_);
  if (listing.facts.adapter) listing.facts.companion = adapter_words(*listing.facts.adapter);
  return listing;
}

std::optional<ListedValue> SafetensorsListing::find_value(std::string_view key) {
  std::optional<std::string> text = st_value(model_, key);
  if (!text) text = directory_text(model_, key);
  if (!text) return std::nullopt;
  return std::string_view(texts_.emplace_back(std::move(*text)));
}

const ModelView& SafetensorsListing::view() {
  if (!view_) view_ = ModelView::of_safetensors(model_.set.path, model_);
  return *view_;
}

std::optional<ValueSource> SafetensorsListing::values_of(const std::string& tensor) {
  if (const ViewTensor* found = view().find(tensor)) return value_source(view(), *found);
  const std::optional<TensorRef> listed = model_.set.find(tensor);
  if (!listed) return std::nullopt;
  const Tensor& entry = model_.set.tensor(*listed);
  return unreadable_source(tensor, entry.dtype, entry.shape,
                           safetensors_tensor_problem(model_.set.file(*listed).document, entry));
}

std::vector<ValueSource> SafetensorsListing::values_of(const Listing& listing) {
  std::vector<ValueSource> sources;
  sources.reserve(listing.tensors.size());
  for (const ListedTensor& tensor : listing.tensors) {
    const ViewTensor* found = tensor.problem.empty() ? view().find(tensor.name) : nullptr;
    if (found != nullptr) {
      sources.push_back(value_source(view(), *found));
      continue;
    }
    sources.push_back(unreadable_source(tensor.name, tensor.type_name, tensor.shape, tensor.problem));
  }
  return sources;
}

void SafetensorsListing::each_key_name(bool config_keys, const NameVisitor& visit) const {
  if (config_keys) {
    for (const std::string& key : st_keys(model_)) visit(key);
  } else {
    for (const safetensors::MetadataEntry& entry : model_.set.metadata()) visit(entry.key);
  }
}

void SafetensorsListing::each_tensor_name(const NameVisitor& visit) const {
  for (std::size_t place = 0; place < model_.set.listed_count(); ++place) {
    visit(model_.set.tensor(model_.set.listed(place)).name);
  }
}

}  // namespace

std::unique_ptr<ListingSource> safetensors_listing(const SafetensorsModel& model) {
  return std::make_unique<SafetensorsListing>(model);
}

}  // namespace modelutils
