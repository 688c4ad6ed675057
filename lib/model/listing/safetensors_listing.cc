#include "model/listing/safetensors_listing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <unordered_set>

#include "arch/image_models.h"
#include "base/name_index.h"
#include "base/path.h"
#include "base/types.h"
#include "model/format.h"
#include "model/forms/foreign_forms.h"
#include "model/listing/chat_source.h"
#include "model/listing/listing.h"
#include "model/listing/model_facts.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/read_tokenizer.h"
#include "tokenizer/read/special_texts.h"

namespace modelutils {

namespace {

std::string json_text(json::Element element) {
  std::string_view text;
  if (element.get(text)) return std::string(text);
  return element.text();
}

void append_members(std::vector<std::string>& keys, json::Element element) {
  json::Object object;
  if (!element.get(object)) return;
  for (const auto member : object) {
    if (!member.value.is_null()) keys.emplace_back(member.key);
  }
}

}  // namespace

std::optional<std::string> st_value(const SafetensorsModel& model, std::string_view key) {
  for (const safetensors::MetadataEntry& entry : model.set.metadata()) {
    if (entry.key == key) return std::string(entry.value);
  }
  if (!model.config || !model.set.is_directory) return std::nullopt;
  const std::optional<json::Element> field = model.config->field(key);
  if (!field) return std::nullopt;
  json::Array list;
  if (!field->get(list)) return json_text(*field);
  std::string text;
  for (const json::Element element : list) {
    if (!text.empty()) text += '\n';
    text += json_text(element);
  }
  return text;
}

std::vector<std::string> st_keys(const SafetensorsModel& model) {
  std::vector<std::string> all;
  for (const safetensors::MetadataEntry& entry : model.set.metadata()) all.emplace_back(entry.key);
  if (model.config && model.set.is_directory) {
    if (model.config->overlay) append_members(all, *model.config->overlay);
    if (model.config->document) append_members(all, model.config->document->root);
  }
  std::vector<std::string> keys;
  std::unordered_set<std::string_view> seen;
  for (const std::string& key : all) {
    if (seen.insert(key).second) keys.push_back(key);
  }
  return keys;
}

namespace {

u64 embedding_rows_of(const SafetensorsModel& model) {
  constexpr std::array<std::string_view, 6> names = {"embed_tokens.weight", "tok_embeddings.weight",
                                                     "wte.weight",          "word_embeddings.weight",
                                                     "embeddings.weight",   "shared.weight"};
  for (const auto& ref : model.set.tensors) {
    const safetensors::Tensor& tensor = model.set.tensor(ref);
    const bool is_embedding =
        std::any_of(names.begin(), names.end(), [&](std::string_view name) { return tensor.name.ends_with(name); });
    if (is_embedding && tensor.shape.size() == 2) return tensor.shape.front();
  }
  return model.config ? model.config->vocab_size.value_or(0) : 0;
}

std::optional<std::string> template_text(const SafetensorsModel& model, const tokenizer::TokenizerFiles& files,
                                         std::string_view key) {
  constexpr std::string_view prefix = "chat_template.";
  FindingLog findings;
  const auto templates = tokenizer::read_chat_templates(model.folder, files.tokenizer_config_root(), findings);
  if (!templates) return std::nullopt;
  if (key == "chat_template") return templates->main;
  for (const tokenizer::NamedTemplate& one : templates->named) {
    if (one.name == key.substr(prefix.size())) return one.text;
  }
  return std::nullopt;
}

}  // namespace

tl::unexpected<Error> no_tokenizer_files() {
  return input_error("hf-tok-missing", "is not a directory: a model's tokenizer is in files next to its weights");
}

Result<tokenizer::EncodeKeys> directory_tokenizer(const SafetensorsModel& model) {
  if (!model.set.is_directory) return no_tokenizer_files();
  tokenizer::TokenizerOptions options;
  options.embedding_rows = embedding_rows_of(model);
  if (model.config) options.config = &*model.config;
  MU_ASSIGN(tokenizer::Tokenizer tokenizer, tokenizer::read_tokenizer(model.folder, options));
  return tokenizer::encode_keys(std::move(tokenizer), {}, {});
}

std::optional<std::string> directory_text(const SafetensorsModel& model, std::string_view key) {
  const bool is_template = key == "chat_template" || key.starts_with("chat_template.");
  const tokenizer::SpecialVariable* token = tokenizer::find_special_variable(key);
  if (!model.set.is_directory || (!is_template && token == nullptr)) return std::nullopt;
  const auto files = tokenizer::load_tokenizer_files(model.folder);
  if (!files) return std::nullopt;
  if (is_template) return template_text(model, *files, key);
  return tokenizer::read_special_texts(*files).*(token->text);
}

namespace {

class SafetensorsListing : public ListingSource {
 public:
  explicit SafetensorsListing(const Model& model) : ListingSource(model), opened_(*model.safetensors) {}

  Listing list(const ListingRequest& request) override;
  std::optional<ListedValue> find_value(std::string_view key) override;
  void each_key_name(bool config_keys, const NameVisitor& visit) const override;

 private:
  std::string kind() const;
  void list_files(Listing& listing) const;
  void list_keys(Listing& listing, const ListingRequest& request) const;
  void list_tensors(Listing& listing, const ListingRequest& request, const std::vector<u64>& parameters) const;
  void list_modules(Listing& listing, const ListingRequest& request);
  void settle(const Module& module, ListedModule& listed);
  void count_types(Listing& listing, const std::vector<u64>& parameters) const;
  void count_forms(Listing& listing) const;
  void describe_image_model(ModelFacts& facts) const;
  u64 bytes_of(std::size_t place) const;

  const SafetensorsModel& opened_;
  std::deque<std::string> texts_;  // storage for the listing's views
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
  if (!opened_.is_model_directory()) {
    if (opened_.set.has_checkpoints) return "PyTorch checkpoint";
    if (!opened_.set.is_directory) return "safetensors";
    const std::optional<PeftAdapter> adapter = peft_adapter(opened_.folder);
    return adapter ? adapter->text() : "directory of safetensors files";
  }
  if (opened_.quantization.declared) return "MLX model, quantised";
  const std::string& method = opened_.quantization.foreign_method;
  return (is_mlx(opened_) ? "MLX model" : "Hugging Face model") +
         (method.empty() ? std::string() : fmt::format(", quantised by {} (not MLX)", method));
}

void SafetensorsListing::list_files(Listing& listing) const {
  std::optional<u64> size = 0;
  for (const safetensors::ShardFile& file : opened_.set.files) {
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
  for (const safetensors::MetadataEntry& entry : opened_.set.metadata()) {
    of_files.insert(entry.key);
    if (selects(request.key_globs, entry.key)) {
      listing.keys.push_back({entry.key, gguf::ValueType::string, listing.key_count, entry.offset, entry.value, false});
    }
    ++listing.key_count;
  }
  if (!request.config_keys) return;
  for (std::string& key : st_keys(opened_)) {
    if (!of_files.contains(key) && selects(request.key_globs, key)) listing.config_keys.push_back(std::move(key));
  }
}

void SafetensorsListing::list_tensors(Listing& listing, const ListingRequest& request,
                                      const std::vector<u64>& parameters) const {
  const safetensors::ShardSet& set = opened_.set;
  const std::vector<bool> parts = quantization_parts(opened_);
  listing.tensor_count = set.listed_count();
  if (!request.tensors) return;
  if (!request.selects_tensors()) reserve_to_fill(listing.tensors, set.listed_count());
  for (std::size_t place = 0; place < set.listed_count(); ++place) {
    const safetensors::Tensor& tensor = set.tensor(set.listed(place));
    if (!selects_tensor(request, model_.catalog().tensors[place], tensor.dtype)) continue;
    const bool is_repeated = place >= set.tensors.size();
    ListedTensor& listed = listing.tensors.emplace_back();
    listed.stored = &model_.catalog().tensors[place];
    listed.entry = &tensor;
    listed.type_name = tensor.dtype;
    listed.parameters = is_repeated ? tensor.elements().value_or(0) : parameters[place];
    listed.index = place;
    listed.is_part = !is_repeated && parts[place];
  }
}

u64 SafetensorsListing::bytes_of(std::size_t place) const {
  return place == mlx::no_tensor ? 0 : opened_.set.tensor(opened_.set.tensors[place]).bytes();
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
  const Catalog& catalog = model_.catalog();
  const Weight* weight = model_.weight_of(catalog.tensors[module.weight()]);
  if (weight == nullptr) return;
  const StoredForm& form = weight->form;
  const u64 rows = weight->ne.empty() ? 0 : weight->ne.back();
  const auto symmetric = is_symmetric(form, rows, catalog.plane_of(*weight->planes[2]));
  if (symmetric) listed.symmetric = *symmetric;
  if (form.kind == FormKind::mlx) return;
  listed.bits = static_cast<u32>(form_info(form).bits(form));
  listed.group_size = group_columns(form);
  listed.shape = reversed(weight->ne);
  listed.parameters = checked_product(listed.shape);
}

// The sum may exceed 64 bits; it is only displayed, so saturate.
void SafetensorsListing::list_modules(Listing& listing, const ListingRequest& request) {
  listing.module_count = opened_.modules.list.size();
  if (!request.tensors) return;
  std::vector<u32> module_of(opened_.set.tensors.size(), ListedTensor::no_module);
  for (const Module& module : opened_.modules.list) {
    const safetensors::Tensor& weight = opened_.set.tensor(opened_.set.tensors[module.weight()]);
    if (!selects_tensor(request, model_.catalog().tensors[module.weight()], weight.dtype)) continue;
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
  for (std::size_t place = 0; place < opened_.set.tensors.size(); ++place) {
    const safetensors::Tensor& tensor = opened_.set.tensor(opened_.set.tensors[place]);
    bytes += tensor.bytes();
    all = checked_add(all, parameters[place]).value_or(all);
    totals.add(tensor.dtype, tensor.type, tensor.bytes(), parameters[place]);
  }
  facts.tensors = opened_.set.tensors.size();
  facts.tensor_bytes = bytes;
  facts.parameters = all;
  // Without usable settings the element count of packed weights is unknown.
  listing.counts_packed_as_stored = std::ranges::any_of(
      opened_.modules.list, [](const Module& module) { return module.quantized && !module.decodable; });
  if (all != 0 && !listing.counts_packed_as_stored) {
    facts.bits_per_weight = 8.0 * static_cast<double>(bytes) / static_cast<double>(all);
  }
}

// Counts quantised modules by their form and all other tensors by their dtype.
void SafetensorsListing::count_forms(Listing& listing) const {
  const auto is_packed = [](const Module& module) { return module.quantized; };
  if (std::ranges::none_of(opened_.modules.list, is_packed)) return;
  Totals totals(listing.forms);
  std::vector<bool> counted(opened_.set.tensors.size());
  for (const Module& module : opened_.modules.list) {
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
    const safetensors::Tensor& tensor = opened_.set.tensor(opened_.set.tensors[place]);
    totals.add(tensor.dtype, tensor.type, tensor.bytes(), tensor.elements().value_or(0));
  }
}

// Recognises image models, whose files and folders state no architecture that a language model has.
void SafetensorsListing::describe_image_model(ModelFacts& facts) const {
  if (!facts.architecture.empty()) return;
  std::vector<std::string_view> names;
  for (const Tensor& tensor : model_.catalog().tensors) names.push_back(tensor.name);
  const arch::ImageLayout layout = arch::image_layout(names);
  if (!layout || arch::not_an_image_model(names, layout)) return;
  std::vector<ImageEntry> entries;
  for (std::size_t place = 0; place < names.size(); ++place) {
    const Tensor& tensor = model_.catalog().tensors[place];
    entries.push_back({tensor.name, tensor.ne, opened_.set.tensor(opened_.set.listed(place)).dtype, tensor.bytes});
  }
  const std::string words[] = {st_value(opened_, "modelspec.title").value_or(""), base_name_of(opened_.set.path)};
  facts.image = image_facts(layout, entries, words);
  facts.architecture = facts.image->architecture;
}

Listing SafetensorsListing::list(const ListingRequest& request) {
  Listing listing;
  if (opened_.config && opened_.is_model_directory()) listing.facts = summary_of(*opened_.config);
  if (request.token_texts) listing.facts.stops = stop_tokens(opened_);
  if (request.towers && read_towers) listing.facts.towers = read_towers();
  listing.format = Listing::Format::safetensors;
  listing.path = opened_.set.path;
  listing.kind = kind();
  listing.has_tensors = request.tensors;
  listing.names_differ = opened_.set.repeated.empty();
  listing.is_unordered = opened_.set.is_directory || opened_.set.index.has_value();
  list_files(listing);
  list_keys(listing, request);
  const std::vector<u64> parameters = parameters_of_tensors(opened_);
  list_tensors(listing, request, parameters);
  list_modules(listing, request);
  count_types(listing, parameters);
  count_forms(listing);
  describe_image_model(listing.facts);
  listing.facts.adapter = adapter_facts(opened_);
  if (listing.facts.adapter) listing.facts.companion = adapter_words(*listing.facts.adapter);
  return listing;
}

std::optional<ListedValue> SafetensorsListing::find_value(std::string_view key) {
  std::optional<std::string> text = st_value(opened_, key);
  if (!text) text = directory_text(opened_, key);
  if (!text) return std::nullopt;
  return std::string_view(texts_.emplace_back(std::move(*text)));
}

void SafetensorsListing::each_key_name(bool config_keys, const NameVisitor& visit) const {
  if (config_keys) {
    for (const std::string& key : st_keys(opened_)) visit(key);
  } else {
    for (const safetensors::MetadataEntry& entry : opened_.set.metadata()) visit(entry.key);
  }
}

}  // namespace

std::unique_ptr<ListingSource> safetensors_listing(const Model& model) {
  return std::make_unique<SafetensorsListing>(model);
}

}  // namespace modelutils
