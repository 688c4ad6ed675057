#include "arch/encoder_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "arch/config_writer.h"
#include "arch/key_writer.h"
#include "base/text.h"
#include "formats/gguf/arrays.h"
#include "json/reader.h"

namespace modelutils::arch {

namespace {

constexpr u64 most_labels = 65536;

// Returns the texts of id2label by their numbers; empty if config.json has none.
std::map<u64, std::string> labels_of(const hf::Config& config) {
  std::map<u64, std::string> labels;
  const auto field = config.field("id2label");
  json::Object members;
  if (!field || !field->get(members) || members.size() > most_labels) return labels;
  for (const json::Member member : members) {
    u64 number = 0;
    const char* end = member.key.data() + member.key.size();
    const auto [stop, error] = std::from_chars(member.key.data(), end, number);
    std::string_view text;
    if (error != std::errc{} || stop != end || !member.value.get(text)) continue;
    labels.insert_or_assign(number, std::string(text));
  }
  return labels;
}

}  // namespace

std::vector<std::string> label_texts(const hf::Config& config) {
  std::vector<std::string> texts;
  for (auto& [number, text] : labels_of(config)) texts.push_back(text);
  return texts;
}

bool is_classifier(const hf::Config& config) {
  return config.architecture.ends_with("ForSequenceClassification");
}

std::optional<u64> label_count(const hf::Config& config, const Sizes& /*sizes*/) {
  if (!is_classifier(config)) return std::nullopt;
  const std::map<u64, std::string> labels = labels_of(config);
  if (!labels.empty()) return labels.size();
  return config.count_field("num_labels").value_or(2);  // as in transformers
}

Status write_labels(KeyWriter& out, const Key& key) {
  const u64 count = out.size(key.symbol);
  if (count == 0) return {};
  const std::map<u64, std::string> labels = labels_of(out.config());
  const bool is_numbered = labels.empty() || labels.rbegin()->first + 1 == labels.size();
  if (count > most_labels || !is_numbered || (!labels.empty() && labels.size() != count)) {
    return out.refuse("id2label",
                      fmt::format("names {} labels, but the classifier has {} outputs", labels.size(), count));
  }
  std::vector<std::string> texts;
  for (u64 i = 0; i < count; ++i) texts.push_back(labels.empty() ? fmt::format("LABEL_{}", i) : labels.at(i));
  out.texts(key.name, texts);
  return {};
}

Status read_labels(ConfigWriter& out, const Key& key) {
  MU_ASSIGN(const std::vector<std::string> labels, out.texts(key.name));
  if (labels.empty()) return {};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out.set(fmt::format("id2label.{}", i), std::string(labels[i]));
  }
  return {};
}

Status warn_of_second_texts(KeyWriter& out) {
  if (out.size("N") == 0 || out.size("T") < 2) return {};
  out.remark(
      Severity::note, "type_vocab_size",
      fmt::format("is {}: the model marks the second text of a pair with type 1, but llama.cpp gives every token "
                  "type 0, so scores of pairs differ from the model's",
                  out.size("T")));
  return {};
}

std::vector<std::string> task_names(const hf::Config& config) {
  constexpr std::size_t most_tasks = 1024;
  std::vector<std::string> tasks;
  const auto listed = config.field(tasks_field);
  json::Array all;
  if (!listed || !listed->get(all)) return tasks;
  for (const json::Element task : all) {
    std::string_view text;
    if (tasks.size() == most_tasks || !task.get(text) || text.empty()) return {};
    tasks.emplace_back(text);
  }
  return tasks;
}

Status note_tasks(KeyWriter& out) {
  const std::vector<std::string> tasks = task_names(out.config());
  if (tasks.empty()) return {};
  out.remark(Severity::note, tasks_field,
             fmt::format("has an adapter for each of {}; they are files of their own, which --task NAME writes",
                         modelutils::joined(tasks)));
  return {};
}

}  // namespace modelutils::arch
