#include "cli/mistakes.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/not_found.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/foreign_options.h"
#include "cli/front_options.h"
#include "cli/operands.h"
#include "formats/gguf/split_set.h"
#include "model/download_record.h"
#include "report/fit_report.h"
#include "tensor/quantize/mix.h"

namespace modelutils::cli {

namespace {

const Flag* find_flag(const std::vector<Flag>& flags, std::string_view long_name) {
  const auto flag = std::ranges::find_if(
      flags, [&](const Flag& each) { return !each.is_positional() && each.long_name() == long_name; });
  return flag == flags.end() ? nullptr : &*flag;
}

std::string did_you_mean(std::string_view name) {
  return fmt::format(" (did you mean '{}'?)", name);
}

// Returns the advice about another program's option; empty if the table does not have it.
std::string foreign_answer(std::string_view given, const std::vector<Flag>& flags) {
  for (const ForeignOption& row : foreign_options()) {
    bool is_meant = false;
    for_each_name(row.names, [&](std::string_view name) { is_meant |= name == given; });
    if (!is_meant || (!row.flag.empty() && find_flag(flags, row.flag) == nullptr)) continue;
    return row.answer.empty() ? did_you_mean(row.flag) : fmt::format(": {}", row.answer);
  }
  return {};
}

}  // namespace

std::string unknown_option(std::string_view given, const std::vector<Flag>& flags) {
  given = given.substr(0, given.find('='));
  std::string more = foreign_answer(given, flags);
  if (const std::vector<std::string> others = tools_with(given);
      more.empty() && !others.empty() && others.size() <= 3) {
    const std::string all_but_last = joined(std::span(others).first(others.size() - 1));
    more = fmt::format("; {}{}{} it", all_but_last.empty() ? "" : all_but_last + " and ", others.back(),
                       others.size() == 1 ? " has" : " have");
  }
  if (more.empty()) {
    ClosestName closest(given);
    for (const Flag& flag : flags) {
      if (!flag.is_positional()) closest.offer(flag.long_name());
    }
    more = closest.hint();
  }
  return fmt::format("unknown option '{}'{}", given, more);
}

namespace {

bool are_parts_of_one(std::string_view a, std::string_view b) {
  const auto first = gguf::parse_split_name(a), second = gguf::parse_split_name(b);
  return first && second && first->prefix == second->prefix && first->count == second->count;
}

// Returns the intended command if a positional argument is the name of a type: llama-quantize takes types as arguments,
// other programs after -q. Empty if there is none.
std::string meant_command(const Surplus& given) {
  std::vector<std::string> paths = given.positionals;
  const auto is_mix = [](const std::string& word) { return quantize::mix_from_name(word) != nullptr; };
  const auto mix = std::ranges::find_if(paths, is_mix);
  if (mix == paths.end()) return {};
  const std::string type = *mix;
  paths.erase(mix);
  const std::string output = !given.outputs.empty() ? given.outputs.back() : paths.size() > 1 ? paths[1] : "OUT.gguf";
  return fmt::format("{} {} -o {} --type {}", given.tool, shell_word(paths[0], "MODEL"), shell_word(output, "OUT.gguf"),
                     type);
}

}  // namespace

std::string unexpected_argument(const Surplus& given, const std::vector<Flag>& flags) {
  const std::string& extra = given.positionals[given.taken];
  const std::string text = fmt::format("unexpected argument '{}'", extra);
  if (find_flag(flags, "--type") != nullptr) {
    if (const std::string command = meant_command(given); !command.empty()) {
      return fmt::format("name the types with --type (-q is --quiet): {}", command);
    }
  }
  if (given.taken > 0 && are_parts_of_one(given.positionals[given.taken - 1], extra)) {
    return text + ": name only one part of a split model; it stands for the whole";
  }
  const Flag* output = find_flag(flags, "--output");
  if (output != nullptr && output->in_usage && given.outputs.empty() && given.positionals.size() == given.taken + 1) {
    return fmt::format("{}: if it is the output, write -o {}", text, shell_word(extra, output->value_name));
  }
  return text;
}

Status check_pair(const Flag& flag, const std::string& value, const std::vector<std::string>& arguments) {
  const std::string& form = flag.value_name;
  const bool is_pair = form.find('=') != form.npos && form.find_first_of("[ ") == form.npos;
  if (!is_pair || value.find('=') != value.npos) return {};
  std::string text = fmt::format("{} needs {}, not '{}'", flag.long_name(), form, value);
  const auto at = std::ranges::find(arguments, value);
  const std::string next = at == arguments.end() || at + 1 == arguments.end() ? std::string() : at[1];
  if (!next.empty() && next[0] != '-') {
    text += fmt::format("; perhaps {} {}={}", flag.long_name(), shell_word(value, form.substr(0, form.find('='))),
                        shell_word(next, form.substr(form.find('=') + 1)));
  }
  return usage_error(std::move(text));
}

Error explained(Error error) {
  if (auto operand = explained_operand(error)) return std::move(*operand);
  constexpr std::string_view codes[] = {"gguf-magic", "st-not-safetensors", "verify-unknown-format",
                                        "convert-not-directory"};
  if (error.code == "io-directory" || error.code == "convert-no-config") {
    const std::string model = gguf_in(error.file);
    if (model.empty()) return error;
    const std::string path = path_in(error.file, model);
    error.message = error.code == "io-directory"
                        ? fmt::format("is a directory: name one of its files, such as '{}'", path)
                        : fmt::format("has no config.json, but GGUF files, such as '{}'", path);
    return error;
  }
  if (std::ranges::find(codes, error.code) == std::end(codes) || !is_ollama_manifest(error.file)) return error;
  const auto manifest = read_ollama_manifest(error.file);
  if (!manifest) return error;
  const auto model = std::ranges::find(manifest->layers, "model", &OllamaLayer::kind);
  error.offset.reset();
  error.message = "is an Ollama manifest";
  error.message += model == manifest->layers.end() ? " that names no model"
                                                   : fmt::format(": the model is '{}'", manifest->blob(*model));
  return error;
}

}  // namespace modelutils::cli
