#include "verify/identity/model_identity.h"

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "formats/hf/model_card.h"
#include "model/listing/listing.h"
#include "tokenizer/read/files.h"

namespace modelutils {

namespace {

bool says_something(const ListedValue& value) {
  if (const auto* text = std::get_if<std::string_view>(&value)) return !text->empty();
  if (const auto* array = std::get_if<ListedArray>(&value)) return array->array.count > 0;
  return true;
}

std::string name_of_path(std::string_view path) {
  path = path.substr(0, path.find_last_not_of('/') + 1);
  return base_name_of(path.empty() ? std::string_view(".") : path);
}

}  // namespace

IdentitySource::IdentitySource(const Model& model) : model_(model) {
  if (model.gguf || model.safetensors) listing_ = listing_of(model);
}

std::string IdentitySource::folder() const {
  return model_.probe.is_directory ? model_.path() : std::string();
}

Result<ModelIdentity> IdentitySource::identity() {
  ModelIdentity identity;
  if (model_.gguf) {
    MU_ASSIGN(identity.card, hf::card_from_keys(*model_.gguf));
  } else if (model_.safetensors && model_.probe.is_directory) {
    FindingLog ignored;  // the rules for directories report problems with a card
    MU_ASSIGN(identity.card, hf::read_model_card(model_.safetensors->folder, ignored));
  }
  identity.name = identity.card.name.value_or(name_of_path(model_.path()));
  if (!listing_) return identity;
  const Listing listing = listing_->list({});
  identity.architecture = listing.facts.architecture;
  identity.mix = listing.facts.mix;
  identity.parameters = listing.facts.parameters;
  identity.context = listing.facts.context;
  for (const TypeTotal& total : listing.is_packed() ? listing.forms : listing.facts.types) {
    identity.types.push_back(total.name);
  }
  return identity;
}

bool IdentitySource::states(std::string_view key) {
  const auto value = listing_ ? listing_->find_value(key) : std::nullopt;
  return value && says_something(*value);
}

bool IdentitySource::has_chat_template() {
  if (model_.gguf) return states("tokenizer.chat_template");
  return model_.safetensors && tokenizer::folder_template(model_.safetensors->folder).has_value();
}

}  // namespace modelutils
