#include "listing/gguf_listing.h"

#include <fmt/core.h>

#include "base/large_pages.h"
#include "base/path.h"
#include "gguf/parse.h"
#include "listing/gguf_summary.h"
#include "listing/named_tokens.h"
#include "model/catalog.h"

namespace modelutils {

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
  if (name.empty()) name = gguf_type_text(tensor);
  return name;
}

void GgufListing::list_tensors(Listing& listing, const ListingRequest& request) const {
  if (!request.tensors) return;
  if (request.tensor_globs.empty()) reserve_to_fill(listing.tensors, model_.catalog().tensors.size());
  u64 index = 0;
  for (const gguf::SetFile& file : set_.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      if (selects(request.tensor_globs, tensor.name)) {
        ListedTensor& listed = listing.tensors.emplace_back();
        listed.stored = &model_.catalog().tensors[index];
        listed.type_name = type_name_of(tensor, listing);
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

}  // namespace modelutils
