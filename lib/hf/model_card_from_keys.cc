#include "hf/model_card_from_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "gguf/keys.h"
#include "gguf/parse.h"

namespace modelutils::hf {

namespace {

constexpr u64 most_entries = 1000;  // per list; cards usually have about ten
constexpr std::string_view hub = "https://huggingface.co/";

class KeyCard {
 public:
  explicit KeyCard(const gguf::SetFile& file) : file_(file), index_(file.document) {}

  Result<ModelCard> read() const {
    ModelCard card;
    card.license = text("general.license");
    card.license_name = text("general.license.name");
    card.license_link = text("general.license.link");
    card.author = text("general.author");
    card.name = text("general.name");
    card.organization = text("general.organization");
    card.basename = text("general.basename");
    card.finetune = text("general.finetune");
    card.version = text("general.version");
    card.size_label = text("general.size_label");
    card.description = text("general.description");
    card.base_models = sources("base_model");
    MU_ASSIGN(card.tags, list("general.tags"));
    card.pipeline_tag = pipeline_of(card.tags);
    MU_ASSIGN(card.languages, list("general.languages"));
    card.datasets = sources("dataset");
    if (card.datasets.empty()) {
      MU_ASSIGN(card.datasets, list("general.datasets"));
    }
    return card;
  }

 private:
  std::optional<std::string> text(std::string_view key) const {
    const auto found = index_.string_value(key);
    return found && !found->empty() && is_utf8(*found) ? std::optional<std::string>(*found) : std::nullopt;
  }

  // A GGUF stores the pipeline tag as one of its tags.
  static std::optional<std::string> pipeline_of(const std::vector<std::string>& tags) {
    constexpr std::array<std::string_view, 3> pipelines = {"text-generation", "image-text-to-text",
                                                           "feature-extraction"};
    const auto* found = std::find_if(pipelines.begin(), pipelines.end(), [&](std::string_view one) {
      return std::find(tags.begin(), tags.end(), one) != tags.end();
    });
    return found != pipelines.end() ? std::optional<std::string>(*found) : std::nullopt;
  }

  Result<std::vector<std::string>> list(std::string_view key) const {
    std::vector<std::string> values;
    const gguf::ArrayRef* array = index_.array_value(key);
    if (array == nullptr || array->element_type != gguf::ValueType::string) {
      if (auto single = text(key)) values.push_back(std::move(*single));
      return values;
    }
    MU_ASSIGN(values, gguf::read_strings(*file_.source, file_.document, *array, most_entries));
    std::erase_if(values, [](const std::string& value) { return value.empty() || !is_utf8(value); });
    return values;
  }

  // Reads general.base_model.0.repo_url and similar keys as "organisation/name".
  std::vector<std::string> sources(std::string_view kind) const {
    std::vector<std::string> found;
    const u64 count = index_.unsigned_value(fmt::format("general.{}.count", kind)).value_or(0);
    for (u64 i = 0; i < std::min(count, most_entries); ++i) {
      const std::string prefix = fmt::format("general.{}.{}.", kind, i);
      const auto address = text(prefix + "repo_url");
      const auto name = text(prefix + "name");
      const auto organization = text(prefix + "organization");
      if (address) {
        std::string_view path = *address;
        if (path.starts_with(hub)) path.remove_prefix(hub.size());
        if (path.starts_with("datasets/")) path.remove_prefix(9);
        found.emplace_back(path);
      } else if (name) {
        found.push_back(organization ? fmt::format("{}/{}", *organization, *name) : *name);
      }
    }
    return found;
  }

  const gguf::SetFile& file_;
  gguf::Index index_;
};

}  // namespace

Result<ModelCard> card_from_keys(const gguf::SplitSet& set) {
  return KeyCard(set.files.front()).read();
}

}  // namespace modelutils::hf
