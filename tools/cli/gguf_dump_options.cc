#include "cli/gguf_dump_options.h"

#include <fmt/format.h>

namespace modelutils::cli {

Command gguf_dump_command(GgufDumpArguments& arguments) {
  Command command("gguf-dump", "Show what is inside GGUF models");
  command.description(
      "Without options: what the model is (architecture, sizes, quantisation), its keys, its tensors. Reads the header "
      "only, except for --values and --stats. The files of a split model are shown as one.");
  const auto forms = [](std::string names, std::string help) {
    return Flag{.names = std::move(names), .help = std::move(help), .group = "Forms of output"};
  };
  const auto select = [](std::string names, std::string value_name, std::string help, ValueKind kind) {
    return Flag{.names = std::move(names),
                .value_name = std::move(value_name),
                .help = std::move(help),
                .group = "Selection",
                .kind = kind};
  };
  command.add_paths({.names = "FILE…",
                     .help = "GGUF files; any part of a split model stands for the whole; - reads a pipe and stops "
                             "behind the header",
                     .group = "Arguments",
                     .kind = ValueKind::file,
                     .file_patterns = {"*.gguf"}},
                    arguments.paths);
  command.add(select("--keys", "GLOB", "Only keys whose name matches; may be repeated", ValueKind::key),
              arguments.keys);
  command.add(select("--tensors", "GLOB", "Only tensors whose name matches; may be repeated", ValueKind::tensor),
              arguments.tensors);
  command.add({.names = "--no-tensors", .help = "Do not list tensors", .group = "Selection"}, arguments.no_tensors);
  command.add(
      select("--get", "KEY", "Print the value of one key and nothing else; arrays one element a line", ValueKind::key),
      arguments.get);
  command.add(select("--values", "NAME", "Print the values of one tensor, dequantised", ValueKind::tensor),
              arguments.values);
  command.add(select("--count", "N", "At most N of the values", ValueKind::number), arguments.count);
  command.add(forms("--json", "One JSON object for each model: gguf-py's and more"), arguments.json);
  command.add(forms("--json-array", "The same with the values of arrays"), arguments.json_array);
  command.add(forms("--jsonl", "The tensor table, one JSON object a line"), arguments.jsonl);
  command.add(forms("--csv", "The tensor table as CSV"), arguments.csv);
  command.add(forms("--markdown", "Keys and tensors as Markdown tables"), arguments.markdown);
  command.add({.names = "--list",
               .value_name = "WHAT",
               .help = "Only the names, one a line",
               .group = "Forms of output",
               .kind = ValueKind::choice,
               .choices = {"keys", "tensors"}},
              arguments.list);
  command.add(forms("--layers", "The network as a grid: layer × role, the type in each cell"), arguments.layers);
  command.add(forms("--stats", "Range, mean, deviation, zeros, NaN and Inf of each tensor; reads all data"),
              arguments.stats);
  command.add(forms("--data-offset", "Only the number of the byte where the tensor data of this file begins"),
              arguments.data_offset);
  command.add(forms("--data-alignment", "Only the alignment of the tensor data of this file"),
              arguments.data_alignment);
  command.example("gguf-dump model.gguf", "What the model is, its keys and its tensors");
  command.example("gguf-dump --get tokenizer.chat_template model.gguf > t.jinja", "Take the chat template out");
  command.example("gguf-dump --layers model.gguf", "See at a glance what is quantised how");
  command.example("gguf-dump --json --no-tensors *.gguf | jq -r '.filename, .bits_per_weight'",
                  "Ask several models the same question");
  command.example("curl -sL https://host/model.gguf | gguf-dump -", "Look at a model without downloading it");
  return command;
}

namespace {

// Has the form nothing to show but tensors?
bool is_about_tensors(GgufDumpForm form) {
  return form == GgufDumpForm::csv || form == GgufDumpForm::jsonl || form == GgufDumpForm::tensor_names ||
         form == GgufDumpForm::layers || form == GgufDumpForm::values || form == GgufDumpForm::stats;
}

}  // namespace

Result<GgufDumpOptions> dump_options(const GgufDumpArguments& arguments, const CommonOptions& common) {
  struct Form {
    std::string_view name;
    bool given;
    GgufDumpForm form;
  };
  const Form forms[] = {{"--get", arguments.get.has_value(), GgufDumpForm::value},
                        {"--values", arguments.values.has_value(), GgufDumpForm::values},
                        {"--stats", arguments.stats, GgufDumpForm::stats},
                        {"--layers", arguments.layers, GgufDumpForm::layers},
                        {"--markdown", arguments.markdown, GgufDumpForm::markdown},
                        {"--csv", arguments.csv, GgufDumpForm::csv},
                        {"--jsonl", arguments.jsonl, GgufDumpForm::jsonl},
                        {"--list", arguments.list.has_value(),
                         arguments.list == "keys" ? GgufDumpForm::key_names : GgufDumpForm::tensor_names},
                        {"--data-offset", arguments.data_offset, GgufDumpForm::data_offset},
                        {"--data-alignment", arguments.data_alignment, GgufDumpForm::alignment}};
  const Form* chosen = nullptr;
  for (const Form& form : forms) {
    if (!form.given) continue;
    if (chosen != nullptr) return usage_error(fmt::format("{} and {} exclude each other", chosen->name, form.name));
    chosen = &form;
  }
  const bool json = arguments.json || arguments.json_array;
  const bool may_be_json = chosen == nullptr || arguments.values || arguments.stats;
  if (json && !may_be_json) return usage_error(fmt::format("--json and {} exclude each other", chosen->name));
  if (arguments.no_tensors && chosen != nullptr && is_about_tensors(chosen->form)) {
    return usage_error(fmt::format("--no-tensors and {} exclude each other", chosen->name));
  }
  if (arguments.count && !arguments.values) return usage_error("--count goes with --values");

  GgufDumpOptions options;
  options.form = chosen != nullptr ? chosen->form : json ? GgufDumpForm::json : GgufDumpForm::text;
  options.name = arguments.get ? *arguments.get : arguments.values.value_or("");
  options.count = arguments.count;
  options.json = json;
  options.tensors = !arguments.no_tensors;
  options.arrays = arguments.json_array;
  options.key_globs = arguments.keys;
  options.tensor_globs = arguments.tensors;
  options.width = terminal_width();
  options.color = use_color(common);
  options.for_terminal = stdout_is_terminal();
  options.several = arguments.paths.size() > 1;
  return options;
}

}  // namespace modelutils::cli
