#include "cli/dump_options.h"

#include "cli/token_options.h"

#include <fmt/core.h>

namespace modelutils::cli {

namespace {

constexpr std::string_view compatibility = "Compatibility (gguf-py's gguf-dump)";

Flag form_flag(std::string_view name, std::string_view help) {
  return {.names = std::string(name), .help = std::string(help), .group = "Forms of output"};
}

Flag selection(std::string name, std::string value_name, std::string help, ValueKind kind) {
  return {.names = std::move(name),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .group = "Selection",
          .kind = kind};
}

void add_selection(Command& command, DumpArguments& arguments, std::string_view get_help) {
  command.add(selection("--keys", "GLOB", "Only keys whose name matches; may be repeated", ValueKind::key),
              arguments.keys);
  command.add(selection("--tensors", "PATTERN",
                        "Only tensors whose name contains PATTERN, or, if it has *, ? or [, matches it as a whole; may "
                        "be repeated",
                        ValueKind::tensor),
              arguments.tensors);
  command.add(selection("--type", "TYPE", "Only tensors of this type, such as Q6_K; may be repeated", ValueKind::text),
              arguments.types);
  command.add_size(selection("--larger-than", "SIZE",
                             "Only tensors of more than SIZE bytes; K, M and G are powers of 1000", ValueKind::size),
                   arguments.larger_than);
  command.add({.names = "--no-tensors", .help = "Do not list tensors", .group = "Selection"}, arguments.no_tensors);
  command.add(selection("--get", "KEY", std::string(get_help), ValueKind::key), arguments.get);
  command.add(
      selection("--values", "NAME", "Print the values of one tensor, dequantised; NAME[10:20,0:4] prints a part of it",
                ValueKind::tensor),
      arguments.values);
  command.add(selection("--count", "N", "With --values: print at most N values", ValueKind::number), arguments.count);
  command.add(
      {.names = "--raw", .help = "With --values: print the stored words as unsigned integers", .group = "Selection"},
      arguments.raw);
}

void add_forms(Command& command, DumpArguments& arguments, bool is_gguf) {
  const std::span<const ListingForm> forms = listing_forms();
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].flag.empty() || (forms[i].is_of_gguf && !is_gguf)) continue;
    Flag flag = form_flag(forms[i].flag, forms[i].help);
    if (forms[i].is_of_gguf) flag.group = compatibility;
    command.add(std::move(flag), arguments.forms[i]);
  }
  command.add({.names = "--list",
               .value_name = "WHAT",
               .help = "Print only the names that --get and --values accept, one per line; known-keys: the keys whose "
                       "type gguf-edit --set knows",
               .group = "Forms of output",
               .kind = ValueKind::choice,
               .choices = {"keys", "known-keys", "tensors"}},
              arguments.list);
  command.add(form_flag("--stats", "Range, mean, deviation, zeros, NaN and Inf per tensor; reads all data"),
              arguments.stats);
  add_page_flags(command, arguments.page,
                 "Write an HTML page: types, layers, keys, tensors, vocabulary, chat template; --stats adds "
                 "histograms, --fit adds memory by context length, --tokens limits the vocabulary",
                 "Forms of output");
  add_token_flags(command, arguments);
  add_render_flags(command, arguments.render);
  add_fit_flags(command, arguments.fit);
}

// One of several alternatives that cannot be combined.
struct Choice {
  std::string_view flag;
  bool given = false;
  bool may_be_json = false;
  bool is_about_tensors = false;
  const ListingForm* form = nullptr;
};

std::vector<Choice> choices(const DumpArguments& arguments) {
  std::vector<Choice> all = {{"--get", arguments.get.has_value()},
                             {"--values", arguments.values.has_value(), true, true},
                             {"--stats", arguments.stats, true, true},
                             {"--list", arguments.list.has_value(), false, arguments.list == "tensors"},
                             {"--modules", arguments.modules, true, true},
                             {"--fit", arguments.fit.fit, true, true},
                             {"--tokens", !arguments.tokens.empty(), true},
                             {"--tokenize", arguments.tokenize.has_value(), true},
                             {"--detokenize", arguments.detokenize.has_value(), true},
                             {"--render", arguments.render.is_asked_for()}};
  const std::span<const ListingForm> forms = listing_forms();
  for (std::size_t i = 0; i < forms.size(); ++i) {
    all.push_back(
        {forms[i].flag, arguments.forms[i], forms[i].write_json != nullptr, forms[i].is_about_tensors, &forms[i]});
  }
  return all;
}

// True for flags that add a section to an --html page and select a form of their own otherwise.
bool is_part_of_page(std::string_view flag) {
  return flag == "--stats" || flag == "--fit" || flag == "--tokens";
}

// Errors: flags that cannot be combined with --html, or that require it.
Status check_page_arguments(const DumpArguments& arguments, std::string_view other_form) {
  MU_TRY(check_page(arguments.page));
  if (!arguments.page.path) return {};
  if (!other_form.empty()) return usage_error(fmt::format("--html and {} cannot be combined", other_form));
  if (arguments.json || arguments.json_array) return usage_error("--html and --json cannot be combined");
  if (arguments.paths.size() > 1) return usage_error("--html takes one model");
  return {};
}

}  // namespace

Command gguf_dump_command(DumpArguments& arguments) {
  Command command("gguf-dump", "Show the contents of GGUF models");
  command.description(
      "Without options, prints a summary (architecture, sizes, quantisation), the keys and the tensors. Only the "
      "header is read, except with --values and --stats. A split model is shown as one.");
  command.add({.names = "FILE…",
               .help = "GGUF files; any part of a split model stands for the whole; a folder stands for the "
                       "models in and below it, which are listed, one per line; - reads standard input and stops "
                       "after the header",
               .group = "Arguments",
               .kind = ValueKind::file,
               .file_patterns = {"*.gguf"}},
              arguments.paths);
  add_selection(command, arguments, "Print only the value of KEY; arrays with one element per line");
  command.add(form_flag("--json", "One JSON object per model: a superset of gguf-py's"), arguments.json);
  add_forms(command, arguments, true);
  command.add(
      {.names = "--json-array", .help = "Like --json, with the values of arrays", .group = std::string(compatibility)},
      arguments.json_array);
  command.example("gguf-dump model.gguf", "Show summary, keys and tensors");
  command.example("gguf-dump --get tokenizer.chat_template model.gguf > t.jinja", "Extract the chat template");
  command.example("gguf-dump --layers model.gguf", "Show how each layer is quantised");
  command.example("gguf-dump --html model.html --stats --fit model.gguf", "Write an HTML report");
  command.example("gguf-dump --json --no-tensors *.gguf | jq -r '.filename, .bits_per_weight'", "Query several models");
  command.example("curl -sL https://host/model.gguf | gguf-dump -", "Inspect a model without downloading it");
  command.add_remote_flags();
  command.add_pager();
  command.daily({"--summary", "--layers", "--get", "--tensors", "--values", "--stats", "--fit", "--json"});
  return command;
}

Command st_dump_command(DumpArguments& arguments) {
  Command command("st-dump", "Show the contents of safetensors files, sharded models and MLX directories");
  command.description(
      "A path is a .safetensors file, a model.safetensors.index.json, a directory, or - for standard input, which is "
      "read up to the end of the header. For a directory, config.json is shown, too. A quantised MLX model is listed "
      "by module; --tensors '*' lists the stored tensors.");
  command.add({.names = "PATH…",
               .help = "A safetensors file, an index, a model directory, or -",
               .group = "Arguments",
               .kind = ValueKind::file,
               .file_patterns = {"*.safetensors", "*.json"}},
              arguments.paths);
  add_selection(command, arguments,
                "Print one raw value: a key of __metadata__ or config.json (nested: rope_scaling.type), chat_template, "
                "or a special token's text (eos_token)");
  command.add(form_flag("--json", "One JSON object per path (schema st-dump/1)"), arguments.json);
  command.add(form_flag("--modules", "Every module with a weight: logical shape, mode, bits, group size, symmetry"),
              arguments.modules);
  add_forms(command, arguments, false);
  command.example("st-dump model/", "Show summary, and modules or tensors");
  command.example("st-dump --layers model/", "Show how each layer is quantised");
  command.example("st-dump --html directory.html model/", "Write an HTML report");
  command.example("st-dump --values model.norm.weight --count 8 model/", "Print the first eight values, dequantised");
  command.example("curl -sL https://host/model.safetensors | st-dump -", "Show the header of a remote file");
  command.add_remote_flags();
  command.add_pager();
  command.daily({"--summary", "--modules", "--layers", "--get", "--tensors", "--values", "--stats", "--json"});
  return command;
}

std::string_view DumpArguments::tensor_selection() const {
  if (!tensors.empty()) return "--tensors";
  if (!types.empty()) return "--type";
  return larger_than ? "--larger-than" : "";
}

Result<DumpRequest> dump_request(const DumpArguments& arguments, const CommonOptions& common) {
  Choice chosen;
  bool csv = false;
  for (const Choice& choice : choices(arguments)) {
    if (!choice.given || (arguments.page.path && is_part_of_page(choice.flag))) continue;
    // These also support CSV.
    if (choice.flag == "--csv" && (chosen.flag == "--tokens" || chosen.flag == "--stats")) {
      csv = true;
      continue;
    }
    if (choice.flag == "--render" && chosen.flag == "--tokenize") continue;  // tokenizes the rendered prompt
    if (chosen.given) return usage_error(fmt::format("{} and {} cannot be combined", chosen.flag, choice.flag));
    chosen = choice;
  }
  MU_TRY(check_page_arguments(arguments, chosen.flag));
  const bool json = arguments.json || arguments.json_array;
  if (json && csv) return usage_error("--json and --csv cannot be combined");
  if (json && chosen.given && !chosen.may_be_json) {
    return usage_error(fmt::format("--json and {} cannot be combined", chosen.flag));
  }
  if (arguments.no_tensors && (chosen.is_about_tensors || arguments.stats)) {
    return usage_error(
        fmt::format("--no-tensors and {} cannot be combined", arguments.stats ? "--stats" : chosen.flag));
  }
  const std::string_view tensor_selection = arguments.tensor_selection();
  const std::string_view any_selection = arguments.keys.empty() ? tensor_selection : "--keys";
  if (arguments.no_tensors && !tensor_selection.empty()) {
    return usage_error(fmt::format("--no-tensors and {} cannot be combined", tensor_selection));
  }
  if (chosen.flag == "--summary" && !any_selection.empty()) {
    return usage_error(
        fmt::format("--summary describes the whole model and cannot be combined with {}", any_selection));
  }
  if (arguments.list && arguments.list != "tensors" && !tensor_selection.empty()) {
    return usage_error(fmt::format("--list {} and {} cannot be combined", *arguments.list, tensor_selection));
  }
  if (arguments.list == "tensors" && !arguments.keys.empty()) {
    return usage_error("--list tensors and --keys cannot be combined");
  }
  if (arguments.raw && !arguments.values) return usage_error("--raw needs --values");
  if (arguments.count && !arguments.values) return usage_error("--count needs --values");

  if (arguments.fit.fit && !any_selection.empty()) {
    return usage_error(fmt::format("--fit considers the whole model and cannot be combined with {}", any_selection));
  }

  MU_TRY(check_render_arguments(arguments.render, arguments.paths));

  DumpRequest request;
  request.select = {arguments.keys,        arguments.tensors,        arguments.types,
                    arguments.larger_than, arguments.list == "keys", !arguments.no_tensors};
  request.form = chosen.form;
  const ListingForm& form = chosen.form != nullptr ? *chosen.form : listing_forms().front();
  request.select.zero_points = arguments.modules;
  request.select.token_texts = form.shows_token_texts && !(json && chosen.form == nullptr);
  request.select.towers = form.shows_token_texts;
  request.json = json;
  request.csv = csv;
  request.value = arguments.get;
  request.values = arguments.values;
  request.count = arguments.count;
  request.raw = arguments.raw;
  request.statistics = arguments.stats;
  if (arguments.list) {
    request.names = arguments.list == "keys"         ? DumpRequest::Names::keys
                    : arguments.list == "known-keys" ? DumpRequest::Names::known_keys
                                                     : DumpRequest::Names::tensors;
  }
  MU_ASSIGN(request.fit, fit_request(arguments.fit));
  MU_ASSIGN(request.tokens, token_request(arguments));
  if (request.tokens) request.tokens->csv = csv;
  if (arguments.render.is_asked_for()) {
    MU_ASSIGN(request.prompt, prompt_request(arguments.render));
    request.template_name = arguments.render.name.value_or("");
  }
  request.fit_layers = common.verbosity > 0;
  request.options.arrays = arguments.json_array;
  request.options.modules = arguments.modules;
  request.options.only_keys = !arguments.keys.empty();
  request.options.only_tensors = !tensor_selection.empty();
  request.is_plain = !chosen.given && !json && !arguments.page.path && any_selection.empty() && !arguments.no_tensors;
  request.options.color = use_color(common);
  request.options.for_terminal = stdout_is_terminal();
  request.options.width = request.options.for_terminal ? terminal_width(80) : 0;  // output to a pipe is never cut
  request.options.explains = common.verbosity > 0;
  request.options.several = arguments.paths.size() > 1;
  return request;
}

}  // namespace modelutils::cli
