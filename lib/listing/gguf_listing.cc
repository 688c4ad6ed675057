#include "listing/gguf_listing.h"

#include <fmt/core.h>

#include <map>

#include "base/large_pages.h"
#include "base/path.h"
#include "gguf/parse.h"
#include "listing/gguf_summary.h"
#include "listing/named_tokens.h"
#include "model/gguf_catalog.h"

namespace modelutils {

namespace {

class GgufListing : public ListingSource {
 public:
  GgufListing(const gguf::SplitSet& set, std::string path) : set_(set), path_(std::move(path)) {}

  Listing list(const ListingRequest& request) override;
  std::optional<ListedValue> find_value(std::string_view key) override;
  std::optional<ValueSource> values_of(const std::string& tensor) override;
  std::vector<ValueSource> values_of(const Listing& listing) override;
  void each_key_name(bool config_keys, const NameVisitor& visit) const override;
  void each_tensor_name(const NameVisitor& visit) const override;

 private:
  const gguf::SetFile& first() const { return set_.files.front(); }
  std::string kind() const;
  void list_files(Listing& listing) const;
  void list_keys(Listing& listing, const ListingRequest& request) const;
  void list_tensors(Listing& listing, const ListingRequest& request);
  std::string_view type_name_of(const gguf::TensorInfo& tensor);
  const Catalog& catalog();

  const gguf::SplitSet& set_;
  std::string path_;
  std::map<u32, std::string> unknown_types_;  // their names; the listing has views into these
  std::optional<Catalog> catalog_;
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
    if (file.path == path_) listing.named_file = listing.files.size();
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

std::string_view GgufListing::type_name_of(const gguf::TensorInfo& tensor) {
  if (const std::optional<TensorType> type = tensor.type()) return type_name(*type);
  std::string& name = unknown_types_[tensor.type_id];
  if (name.empty()) name = gguf_type_text(tensor);
  return name;
}

void GgufListing::list_tensors(Listing& listing, const ListingRequest& request) {
  if (!request.tensors) return;
  if (request.tensor_globs.empty()) {
    std::size_t count = 0;
    for (const gguf::SetFile& file : set_.files) count += file.document.tensors.size();
    reserve_to_fill(listing.tensors, count);
  }
  u64 index = 0;
  u32 file_number = 0;
  for (const gguf::SetFile& file : set_.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      if (selects(request.tensor_globs, tensor.name)) {
        const GgufTensorPlace place = gguf_tensor_place(file.document, tensor);
        ListedTensor& listed = listing.tensors.emplace_back();
        listed.name = tensor.name;
        listed.type_name = type_name_of(tensor);
        listed.type = tensor.type();
        listed.shape = tensor.ne;
        listed.parameters = tensor.elements();
        listed.bytes = place.bytes;
        listed.data_offset = place.offset;
        listed.index = index;
        listed.offset = tensor.info_offset;
        listed.file = file_number;
        listed.problem = place.problem;
      }
      ++index;
    }
    ++file_number;
  }
}

Listing GgufListing::list(const ListingRequest& request) {
  Listing listing;
  listing.format = Listing::Format::gguf;
  listing.path = path_;
  listing.has_tensors = request.tensors;
  listing.kind = kind();
  listing.part = gguf::lone_part(set_);
  listing.big_endian = first().document.big_endian;
  listing.facts = summarize(set_);
  listing.facts.templates = named_templates(set_);
  listing.facts.chat_template = template_capabilities(set_);
  if (request.token_texts) listing.facts.tokens = named_tokens(set_);
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

const Catalog& GgufListing::catalog() {
  if (!catalog_) catalog_ = gguf_catalog(set_);
  return *catalog_;
}

std::optional<ValueSource> GgufListing::values_of(const std::string& tensor) {
  if (const CatalogTensor* found = catalog().find(tensor)) return value_source(catalog(), *found);
  for (const gguf::SetFile& file : set_.files) {
    if (const gguf::TensorInfo* listed = file.document.find_tensor(tensor)) {
      return unreadable_source(tensor, type_name_of(*listed), listed->ne,
                               gguf_tensor_place(file.document, *listed).problem);
    }
  }
  return std::nullopt;
}

std::vector<ValueSource> GgufListing::values_of(const Listing& listing) {
  std::vector<const CatalogTensor*> stored;  // by tensor number in the model
  auto next = catalog().tensors.begin();
  for (const gguf::SetFile& file : set_.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      stored.push_back(gguf_tensor_place(file.document, tensor).problem.empty() ? &*next++ : nullptr);
    }
  }
  std::vector<ValueSource> sources;
  for (const ListedTensor& tensor : listing.tensors) {
    if (const CatalogTensor* readable = stored[tensor.index]) {
      sources.push_back(value_source(catalog(), *readable));
      continue;
    }
    sources.push_back(unreadable_source(tensor.name, tensor.type_name, tensor.shape, tensor.problem));
  }
  return sources;
}

void GgufListing::each_key_name(bool, const NameVisitor& visit) const {
  modelutils::each_key_name(set_)(visit);
}

void GgufListing::each_tensor_name(const NameVisitor& visit) const {
  modelutils::each_tensor_name(set_)(visit);
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

std::unique_ptr<ListingSource> gguf_listing(const gguf::SplitSet& set, std::string path) {
  return std::make_unique<GgufListing>(set, std::move(path));
}

}  // namespace modelutils
