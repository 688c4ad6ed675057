#include "cli/model_diff_options.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/parse_number.h"

namespace modelutils::cli {

namespace {

// Parses a percentage: "1%" and "1" are 0.01.
std::optional<double> percentage(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = number_from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(percent) || percent < 0)
    return std::nullopt;
  return percent / 100;
}

}  // namespace

Command model_diff_command(ModelDiffArguments& arguments) {
  Command command("model-diff", "Show what changed between two models: GGUF, safetensors, MLX, Hugging Face, BUMPWGT");
  command.description(
      "A and B are models of any readable format: a GGUF file (any part of a split model stands for the whole), a "
      ".safetensors file, an index or a directory, or BUMPWGT3, 4 or 5 weights. Tensors are matched by name, or by "
      "their GGUF names if the formats differ. Without --data, values are compared only for models of up to 268 MB "
      "whose tensors have the same types and shapes. Sections without a difference are not printed, so equal models "
      "print nothing.");
  command.add({.names = "A", .help = "The model to start from", .kind = ValueKind::file}, arguments.a);
  command.add({.names = "B", .help = "The model to compare with it", .kind = ValueKind::file}, arguments.b);
  command.add({"--data", {}, "Also compare the values of every tensor; tensors with equal bytes are not decoded"},
              arguments.compare.data);
  command.add({"--quick", {}, "Compare headers only, without the remark that values were not compared"},
              arguments.compare.quick);
  command.add(
      {.names = "--max-rms",
       .value_name = "PERCENT",
       .help = "Treat values with at most this relative RMS error as equal, and ignore changes of type; implies --data",
       .kind = ValueKind::number},
      arguments.max_rms);
  command.add({.names = "--top",
               .value_name = "N",
               .help = "With --data: list the N tensors with the largest errors (default 10)",
               .kind = ValueKind::number},
              arguments.top);
  command.add({"--layout", {}, "Also compare the order, offsets, alignment and shards of the files"},
              arguments.compare.layout);
  command.add({"--brief", {}, "Print one line if the models differ"}, arguments.brief);
  command.add(
      {.names = "--ignore-keys", .value_name = "GLOB", .help = "Ignore keys that match", .kind = ValueKind::key},
      arguments.compare.ignored_keys);
  command.add({.names = "--ignore-tensors",
               .value_name = "GLOB",
               .help = "Ignore tensors that match",
               .kind = ValueKind::tensor},
              arguments.compare.ignored_tensors);
  command.add({.names = "--extract-lora",
               .value_name = "RANK",
               .help = "Write a PEFT adapter approximating B from A, with the best product of this rank for each "
                       "matrix that differs",
               .kind = ValueKind::number},
              arguments.extract_rank);
  command.add({.names = "-o,--output",
               .value_name = "DIR",
               .help = "With --extract-lora: the directory of the adapter",
               .kind = ValueKind::directory},
              arguments.output);
  command.add({"--json", {}, "Print one JSON object"}, arguments.json);
  command.add({"--csv", {}, "Print one line of CSV for each difference"}, arguments.csv);
  command.add({"--markdown", {}, "Print tables in Markdown"}, arguments.markdown);
  add_page_flags(
      command, arguments.page, "Write an HTML page: the changes and, if values were compared, the error by layer",
      "Options",
      "Replace an existing output of --html or --extract-lora (a directory only if it holds nothing but an adapter)");
  command.example("model-diff model.gguf m.gguf", "Compare keys, tokenizer, types and shapes");
  command.example("model-diff --data model.gguf m.gguf", "Compare values as well");
  command.example("model-diff --data --html diff.html model.gguf m.gguf",
                  "Show a quantisation's error by layer as an HTML page");
  command.example("model-diff --max-rms 1% model-4bit model.gguf",
                  "Check that converted values match the source within one percent");
  command.example("model-diff Llama-3.2-1B my-finetune --extract-lora 32 -o my-lora",
                  "Extract a finetune's changes as an adapter");
  command.add_remote_flags();
  command.add_pager();
  command.daily({"--data", "--max-rms", "--layout", "--brief", "--json"});
  return command;
}

Status finish(ModelDiffArguments& arguments) {
  const int forms =
      (arguments.brief ? 1 : 0) + (arguments.json ? 1 : 0) + (arguments.csv ? 1 : 0) + (arguments.markdown ? 1 : 0);
  if (forms > 1) return usage_error("--brief, --json, --csv and --markdown cannot be combined");
  if (arguments.extract_rank) {
    arguments.force = std::exchange(arguments.page.force, false);
  }
  MU_TRY(check_page(arguments.page));
  if (arguments.page.path && forms > 0) {
    return usage_error("--html and --brief, --json, --csv or --markdown cannot be combined");
  }
  if (!arguments.extract_rank && !arguments.output.empty()) return usage_error("-o needs --extract-lora");
  if (arguments.extract_rank) {
    if (*arguments.extract_rank == 0 || *arguments.extract_rank > 4096) {
      return usage_error("--extract-lora needs a rank from 1 to 4096");
    }
    if (arguments.output.empty()) return usage_error("--extract-lora needs -o DIR");
    if (arguments.brief || arguments.csv || arguments.markdown || arguments.compare.layout || arguments.compare.data ||
        arguments.compare.quick || arguments.max_rms || arguments.page.path) {
      return usage_error("--extract-lora can be combined only with -o, --force, --json and --ignore-tensors");
    }
  }
  if (arguments.max_rms) {
    const std::optional<double> limit = percentage(*arguments.max_rms);
    if (!limit)
      return usage_error(fmt::format("--max-rms needs a percentage such as 1% or 0.5, not '{}'", *arguments.max_rms));
    arguments.compare.max_rms = *limit;
  }
  if (arguments.compare.quick && (arguments.compare.data || arguments.max_rms)) {
    return usage_error("--quick cannot be combined with --data or --max-rms");
  }
  if (arguments.top && !arguments.compare.data && !arguments.max_rms) return usage_error("--top needs --data");
  return {};
}

}  // namespace modelutils::cli
