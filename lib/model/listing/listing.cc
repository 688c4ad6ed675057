#include "model/listing/listing.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "base/name_index.h"
#include "base/not_found.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/gguf/foreign_types.h"
#include "formats/gguf/parse.h"
#include "model/catalog.h"
#include "model/listing/chat_source.h"
#include "model/listing/model_facts.h"

namespace modelutils {

namespace {

constexpr u64 most_layers = 4096;  // the largest models have a few hundred

// Splits "blk.3.ffn_up.weight" into "3" and "ffn_up.weight".
std::optional<std::pair<u64, std::string_view>> layer_of(std::string_view name) {
  constexpr std::string_view prefix = "blk.";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  u64 layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (error != std::errc{} || digits == name.size() || name[digits] != '.' || layer >= most_layers) return std::nullopt;
  return std::pair(layer, name.substr(digits + 1));
}

// Considers only roles that most layers between the first and the last have. Layers lack other roles on purpose.
std::optional<CoveredLayers> covered_layers(const quantize::ImportanceMatrix& matrix) {
  std::map<std::string_view, std::vector<u64>> layers_of_role;
  CoveredLayers covered{.first = most_layers, .last = 0, .missing = {}};
  for (const quantize::ImportanceEntry& entry : matrix.entries()) {
    const auto place = layer_of(entry.name);
    if (!place) continue;
    layers_of_role[place->second].push_back(place->first);
    covered.first = std::min(covered.first, place->first);
    covered.last = std::max(covered.last, place->first);
  }
  if (layers_of_role.empty()) return std::nullopt;
  const u64 count = covered.last - covered.first + 1;
  for (auto& [role, layers] : layers_of_role) {
    std::ranges::sort(layers);
    if (layers.size() == count || layers.size() * 4 < count * 3) continue;
    for (u64 layer = covered.first; layer <= covered.last; ++layer) {
      if (std::ranges::binary_search(layers, layer)) continue;
      covered.missing.push_back(fmt::format("blk.{}.{}", layer, role));
    }
  }
  return covered;
}

}  // namespace

ImportanceFacts importance_facts(std::shared_ptr<const quantize::ImportanceMatrix> matrix) {
  ImportanceFacts facts;
  facts.layers = covered_layers(*matrix);
  for (const quantize::ImportanceEntry& entry : matrix->entries()) {
    facts.matrices += entry.counts.size();
    facts.never_used += entry.never_used();
    if (entry.never_used() > 0) ++facts.tensors_never_used;
  }
  facts.matrix = std::move(matrix);
  return facts;
}

std::optional<ImportanceFacts> importance_facts(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  if (set.is_split() || !file.document.complete || !file.source->size()) return std::nullopt;
  if (file.document.big_endian || !quantize::is_importance(file.document)) return std::nullopt;
  auto matrix = quantize::ImportanceMatrix::read(file.source, file.path, file.document);
  if (!matrix) return std::nullopt;  // verify reports the error
  return importance_facts(std::move(*matrix));
}

std::optional<u64> ListedTensor::bytes() const {
  return stored->unreadable == Unreadable::unknown_size ? std::nullopt : std::optional(stored->bytes);
}

std::optional<u64> ListedTensor::data_offset() const {
  return stored->offset == Tensor::nowhere ? std::nullopt : std::optional(stored->offset);
}

bool selects(const std::vector<std::string>& globs, std::string_view name) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) { return glob_match(glob, name); });
}

bool is_type_named(std::string_view type, std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(type, name, {}, lower, lower);
}

bool selects_tensor(const ListingRequest& request, const Tensor& tensor, std::string_view type) {
  const auto selects_name = [&](const std::string& pattern) { return pattern_selects(pattern, tensor.name); };
  const auto has_type = [&](const std::string& name) { return is_type_named(type, name); };
  const bool has_size = tensor.unreadable != Unreadable::unknown_size;
  return (request.tensor_patterns.empty() || std::ranges::any_of(request.tensor_patterns, selects_name)) &&
         (request.types.empty() || std::ranges::any_of(request.types, has_type)) &&
         (!request.larger_than || (has_size && tensor.bytes > *request.larger_than));
}

const Tensor* ListingSource::find_tensor(std::string_view name) const {
  const Tensor* readable = model_.safetensors ? model_.find(name) : model_.catalog().find(name);
  if (readable != nullptr) return readable;
  const auto found = std::ranges::find(model_.catalog().tensors, name, &Tensor::name);
  return found == model_.catalog().tensors.end() ? nullptr : &*found;
}

void ListingSource::each_tensor_name(const NameVisitor& visit) const {
  for (const Tensor& tensor : model_.catalog().tensors) visit(tensor.name);
}

std::unique_ptr<ListingSource> listing_of(const Model& model) {
  if (model.gguf) return gguf_listing(model);
  if (model.safetensors) return safetensors_listing(model);
  return model.importance ? imatrix_listing(model) : nullptr;
}

namespace {

class GgufListing : public ListingSource {
 public:
  explicit GgufListing(const Model& model) : ListingSource(model), set_(*model.gguf) {}

  Listing list(const ListingRequest& request) override;
  std::optional<ListedValue> find_value(std::string_view key) override;
  void each_key_name(bool config_keys, const NameVisitor& visit) const override;

 private:
  const gguf::SetFile& first() const { return set_.files.front(); }
  std::string kind() const;
  void list_files(Listing& listing) const;
  void list_keys(Listing& listing, const ListingRequest& request) const;
  void list_tensors(Listing& listing, const ListingRequest& request) const;

  const gguf::SplitSet& set_;
};

// Returns the header fields that gguf-py shows as keys, as far as they were read.
std::vector<ListedKey> header_fields(const gguf::Document& document) {
  using gguf::ValueType;
  std::vector<ListedKey> fields = {{"GGUF.version", ValueType::u32, 0, 4, u64{document.version}, false},
                                   {"GGUF.tensor_count", ValueType::u64, 1, 8, document.tensor_count, false},
                                   {"GGUF.kv_count", ValueType::u64, 2, 16, document.kv_count, false}};
  std::erase_if(fields, [&](const ListedKey& field) {
    return field.offset + gguf::value_size(field.type) > document.header_end;  // the field has another version's size
                                                                               // or lies beyond the end of the file
  });
  return fields;
}

std::string GgufListing::kind() const {
  const gguf::Document& document = first().document;
  std::string text = "GGUF";
  if (!header_fields(document).empty()) text += fmt::format(" v{}", document.version);
  if (document.big_endian) text += ", big-endian";
  return text;
}

void GgufListing::list_files(Listing& listing) const {
  for (const gguf::SetFile& file : set_.files) {
    const gguf::Document& document = file.document;
    if (file.path == model_.path()) listing.named_file = listing.files.size();
    listing.files.push_back(
        {file.path, base_name_of(file.path), document.file_size, document.header_end, document.alignment,
         document.complete ? std::optional<u64>(document.data_offset) : std::nullopt, document.tensors.size()});
    listing.tensor_count += document.tensor_count;
  }
}

void GgufListing::list_keys(Listing& listing, const ListingRequest& request) const {
  listing.header_fields = header_fields(first().document);
  for (ListedKey& field : listing.header_fields) field.is_hidden = !selects(request.key_globs, field.name);
  listing.has_counts = listing.header_fields.size() == 3;
  listing.key_count = first().document.kv_count;
  u64 index = 3;  // after the header's fields
  for (const gguf::KeyValue& key : first().document.keys) {
    if (selects(request.key_globs, key.key)) {
      listing.keys.push_back({key.key, key.type(), index, key.offset, listed_value(first(), key.value), false});
    }
    ++index;
  }
}

std::string_view type_name_of(const gguf::TensorInfo& tensor, Listing& listing) {
  if (const std::optional<TensorType> type = tensor.type()) return type_name(*type);
  std::string& name = listing.unknown_types[tensor.type_id];
  if (name.empty()) name = gguf::type_text(tensor);
  return name;
}

void GgufListing::list_tensors(Listing& listing, const ListingRequest& request) const {
  if (!request.tensors) return;
  if (!request.selects_tensors()) reserve_to_fill(listing.tensors, model_.catalog().tensors.size());
  u64 index = 0;
  for (const gguf::SetFile& file : set_.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const std::string_view type = type_name_of(tensor, listing);
      if (selects_tensor(request, model_.catalog().tensors[index], type)) {
        ListedTensor& listed = listing.tensors.emplace_back();
        listed.stored = &model_.catalog().tensors[index];
        listed.type_name = type;
        listed.parameters = tensor.elements();
        listed.index = index;
      }
      ++index;
    }
  }
}

Listing GgufListing::list(const ListingRequest& request) {
  Listing listing;
  listing.format = Listing::Format::gguf;
  listing.path = model_.path();
  listing.has_tensors = request.tensors;
  listing.kind = kind();
  listing.part = gguf::lone_part(set_);
  listing.big_endian = first().document.big_endian;
  listing.facts = summarize(set_);
  listing.facts.templates = named_templates(set_);
  listing.facts.chat_template = template_capabilities(set_);
  if (request.token_texts) {
    listing.facts.tokens = named_tokens(set_);
    listing.facts.stops = stop_tokens(set_);
  }
  listing.importance = importance_facts(set_);
  list_files(listing);
  list_keys(listing, request);
  list_tensors(listing, request);
  return listing;
}

std::optional<ListedValue> GgufListing::find_value(std::string_view key) {
  if (const gguf::KeyValue* found = first().document.find(key)) return listed_value(first(), found->value);
  for (const ListedKey& field : header_fields(first().document)) {
    if (field.name == key) return field.value;
  }
  return std::nullopt;
}

void GgufListing::each_key_name(bool, const NameVisitor& visit) const {
  modelutils::each_key_name(set_)(visit);
}

}  // namespace

EachName each_key_name(const gguf::SplitSet& set) {
  return [&set](const auto& visit) {
    for (const gguf::KeyValue& key : set.files.front().document.keys) visit(key.key);
    for (const ListedKey& field : header_fields(set.files.front().document)) visit(field.name);
  };
}

EachName each_tensor_name(const gguf::SplitSet& set) {
  return [&set](const auto& visit) {
    for (const gguf::SetFile& file : set.files) {
      for (const gguf::TensorInfo& tensor : file.document.tensors) visit(tensor.name);
    }
  };
}

ListedValue listed_scalar(const gguf::Value& value) {
  return std::visit(
      [&](const auto& scalar) -> ListedValue {
        using T = std::decay_t<decltype(scalar)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return std::string_view(scalar);
        } else if constexpr (std::is_same_v<T, gguf::Bool>) {
          return scalar.byte != 0;
        } else if constexpr (std::is_same_v<T, gguf::ArrayRef>) {
          return std::string_view();
        } else if constexpr (std::is_floating_point_v<T>) {
          return scalar;
        } else if constexpr (std::is_signed_v<T>) {
          return i64{scalar};
        } else {
          return u64{scalar};
        }
      },
      value);
}

ListedValue listed_value(const gguf::SetFile& file, const gguf::Value& value) {
  const auto* array = std::get_if<gguf::ArrayRef>(&value);
  return array != nullptr ? ListedValue(ListedArray{&file, *array}) : listed_scalar(value);
}

std::unique_ptr<ListingSource> gguf_listing(const Model& model) {
  return std::make_unique<GgufListing>(model);
}

namespace {

// Lists the entries as tensors of float32 sums.
class ImatrixListing : public ListingSource {
 public:
  explicit ImatrixListing(const Model& model) : ListingSource(model), matrix_(model.importance) {}

  Listing list(const ListingRequest& request) override {
    const std::vector<Tensor>& tensors = model_.catalog().tensors;
    Listing listing;
    listing.format = Listing::Format::gguf;
    listing.path = model_.path();
    listing.kind = "the format before GGUF";
    listing.has_tensors = request.tensors;
    listing.facts = facts();
    listing.importance = importance_facts(matrix_);
    listing.tensor_count = tensors.size();
    listing.files.push_back({.path = matrix_->path(),
                             .name = base_name_of(matrix_->path()),
                             .size = matrix_->source()->size(),
                             .header_bytes = 0,
                             .alignment = 0,
                             .data_offset = std::nullopt,
                             .tensors = tensors.size()});
    if (!request.tensors) return listing;
    for (const Tensor& tensor : tensors) {
      if (!selects_tensor(request, tensor, type_name(*tensor.type))) continue;
      ListedTensor& listed = listing.tensors.emplace_back();
      listed.stored = &tensor;
      listed.type_name = type_name(*tensor.type);
      listed.parameters = tensor.ne.front();
      listed.index = model_.place_of(tensor);
    }
    return listing;
  }

  std::optional<ListedValue> find_value(std::string_view) override { return std::nullopt; }
  void each_key_name(bool, const NameVisitor&) const override {}

 private:
  ModelFacts facts() const {
    const std::vector<Tensor>& tensors = model_.catalog().tensors;
    ModelFacts facts;
    facts.companion = legacy_imatrix_facts(*matrix_);
    facts.file_size = matrix_->source()->size();
    TypeTotal total{.name = std::string(type_name(TensorType::F32)),
                    .type = TensorType::F32,
                    .tensors = tensors.size(),
                    .bytes = 0,
                    .parameters = 0};
    for (const Tensor& tensor : tensors) {
      *total.bytes += tensor.bytes;
      *total.parameters += tensor.ne.front();
    }
    facts.tensors = total.tensors;
    facts.parameters = total.parameters;
    facts.tensor_bytes = total.bytes;
    facts.types.push_back(std::move(total));
    return facts;
  }

  std::shared_ptr<const quantize::ImportanceMatrix> matrix_;
};

}  // namespace

std::unique_ptr<ListingSource> imatrix_listing(const Model& model) {
  return std::make_unique<ImatrixListing>(model);
}

}  // namespace modelutils
