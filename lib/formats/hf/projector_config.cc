#include "formats/hf/projector_config.h"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "json/writer.h"

namespace modelutils::hf {

namespace {

// An object's members as JSON, in order; a later one of the same name replaces an earlier one.
class Members {
 public:
  void set(std::string_view name, std::string json) {
    const auto [at, is_new] = places_.try_emplace(std::string(name), members_.size());
    if (is_new) {
      members_.emplace_back(std::string(name), std::move(json));
    } else {
      members_[at->second].second = std::move(json);
    }
  }
  void set_all(json::Object object) {
    for (const json::Member& member : object) {
      if (!member.value.is_null()) set(member.key, member.value.text());
    }
  }
  std::string text() const {
    std::string out = "{";
    for (const auto& [name, json] : members_) {
      json::Writer key;
      key.string(name);
      if (out.size() > 1) out += ',';
      ((out += key.text()) += ':') += json;
    }
    return out + "}";
  }

 private:
  std::vector<std::pair<std::string, std::string>> members_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

// Adds a file's members, with those of its object `lifted` after them.
Status add_file(const ModelFolder& folder, std::string_view name, std::string_view lifted, Members& members) {
  MU_ASSIGN(const std::shared_ptr<json::Document> document,
            json::load_if_present(folder, name, u64{64} << 20, json::Numbers::python));
  if (document == nullptr) return {};
  json::Object object;
  if (!document->root.get(object))
    return input_error("hf-side-file", "is not a JSON object", {}, {}, folder.file(name));
  members.set_all(object);
  if (const auto inner = json::object_member(document->root, lifted)) members.set_all(*inner);
  return {};
}

// Returns the first member with one of these names that is an object, in the object or in its thinker_config; otherwise
// the first that exists with any type.
std::optional<json::Element> part(json::Element root, std::span<const std::string_view> names) {
  std::optional<json::Element> other;
  const auto thinker = json::member(root, "thinker_config");
  for (const std::string_view name : names) {
    for (const auto& in : {std::optional(root), thinker}) {
      const auto found = in ? json::member(*in, name) : std::nullopt;
      if (found && found->is_object()) return found;
      if (found && !other) other = found;
    }
  }
  return other;
}

constexpr std::array<std::string_view, 1> vision = {"vision_config"}, audio = {"audio_config"};
constexpr std::array<std::string_view, 4> text_configs = {"text_config", "llm_config", "lm_config", "language_config"};

}  // namespace

Result<Config> load_projector_config(const ModelFolder& folder, const Config& config) {
  Members preprocessor;
  MU_TRY(add_file(folder, "preprocessor_config.json", "media_proc_cfg", preprocessor));
  MU_TRY(add_file(folder, "processor_config.json", "image_processor", preprocessor));
  const json::Element root = config.document->root;
  Members members;
  if (json::Object object; root.get(object)) members.set_all(object);
  for (const auto& [name, names] :
       {std::pair<std::string_view, std::span<const std::string_view>>{"vision_config", vision},
        {"audio_config", audio},
        {"text_config", text_configs}}) {
    const auto found = part(root, names);
    if (found && (found->is_object() || name != text_configs.front())) {
      members.set(name, found->text());
    } else if (name == text_configs.front()) {
      members.set(name, root.text());
    }
  }
  members.set("preprocessor_config", preprocessor.text());
  MU_ASSIGN(Config made, parse_config(members.text(), folder.path));
  // The values that parse_config() takes from text_config belong to the language model, so they are dropped.
  made.overlay = std::nullopt;
  made.hidden_act.clear();
  made.partial_rotary_factor = std::nullopt;
  made.findings = {};
  made.architecture = class_of_model(made);
  if (const auto classes = made.field("vision_config.architectures")) {
    json::Array list;
    std::string_view first;
    if (classes->get(list) && list.size() > 0 && list.at(0)->get(first)) made.architecture = first;
  }
  return made;
}

std::string_view class_of_model(const Config& projector_config) {
  const auto classes = json::array_member(projector_config.document->root, "architectures");
  std::string_view first;
  return classes && classes->size() > 0 && classes->at(0)->get(first) ? first : std::string_view{};
}

}  // namespace modelutils::hf
