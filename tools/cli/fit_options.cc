#include "cli/fit_options.h"

#include <fmt/core.h>

#include <array>
#include <tuple>
#include <utility>

#include "base/types.h"
#include "cli/option_values.h"

namespace modelutils::cli {

namespace {

constexpr std::string_view group = "Memory (--fit)";

Flag fit_flag(std::string_view name, std::string_view value_name, std::string_view help, ValueKind kind) {
  return {.names = std::string(name),
          .value_name = std::string(value_name),
          .help = std::string(help),
          .group = std::string(group),
          .kind = kind};
}

Flag fit_switch(std::string_view name, std::string_view help) {
  return {.names = std::string(name), .help = std::string(help), .group = std::string(group)};
}

// Returns "32768" for "32,768", a list that is more likely one number with a thousands separator. Empty for other
// lists: in "512,768" the numbers are usual context lengths, in ascending order.
std::string without_thousands(std::string_view text) {
  constexpr std::string_view least = "256";
  std::string number;
  std::string_view before;
  bool is_list = true;  // each length is at least 256 and more than the one before
  while (true) {
    const std::string_view digits = text.substr(0, text.find(','));
    const bool is_number = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
    if (!is_number || digits.size() > 3 || (!number.empty() && digits.size() < 3)) return {};
    is_list = is_list && digits.size() == 3 && digits >= least && (before.empty() || digits > before);
    number += before = digits;
    if (digits.size() == text.size()) break;
    text.remove_prefix(digits.size() + 1);
  }
  return is_list || before.size() == number.size() ? std::string() : number;
}

// Parses context lengths in tokens: "8192,32K".
Result<std::vector<u64>> parse_contexts(std::string_view text) {
  std::vector<u64> contexts;
  if (const std::string number = without_thousands(text); !number.empty()) {
    return usage_error(
        fmt::format("--context: a comma separates context lengths; for {} tokens write {}", text, number));
  }
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    MU_ASSIGN(const u64 context, parse_tokens("--context", text.substr(0, comma)));
    contexts.push_back(context);
    text.remove_prefix(is_last ? text.size() : comma + 1);
  }
  return contexts;
}

// Parses GPU sizes: "24G", or "24G,16G" for two.
Status set_gpus(std::string_view text, memory::Available& available) {
  constexpr std::size_t most = 64;
  u64 sum = 0;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    MU_ASSIGN(const u64 size, parse_memory("--gpu", text.substr(0, comma)));
    const std::optional<u64> more = checked_add(sum, size);
    if (!more) return usage_error("--gpu: the sum of the sizes is too large");
    sum = *more;
    available.gpus.push_back(size);
    if (available.gpus.size() > most) return usage_error(fmt::format("--gpu takes at most {} GPUs", most));
    text.remove_prefix(is_last ? text.size() : comma + 1);
  }
  available.gpu = sum;
  if (available.gpus.size() == 1) available.gpus.clear();
  return {};
}

Status check_alone(const FitArguments& arguments) {
  const std::array<std::pair<std::string_view, bool>, 14> given = {
      {{"--context", arguments.contexts.has_value()},
       {"--gpu", arguments.gpu.has_value()},
       {"--mmproj", arguments.mmproj.has_value()},
       {"--ram", arguments.ram.has_value()},
       {"--memory", arguments.memory.has_value()},
       {"--mac", arguments.mac.has_value()},
       {"--margin", arguments.margin.has_value()},
       {"--kv", arguments.kv.has_value()},
       {"--sequences", arguments.sequences.has_value()},
       {"--unified", arguments.unified},
       {"--batch", arguments.batch.has_value()},
       {"--ubatch", arguments.ubatch.has_value()},
       {"--flash-attention", arguments.flash_attention.has_value()},
       {"--swa-full", arguments.full_windows}}};
  for (const auto& [name, is_given] : given) {
    if (is_given) return usage_error(fmt::format("{} needs --fit", name));
  }
  return {};
}

Status check_together(const FitArguments& arguments) {
  if (arguments.memory && (arguments.gpu || arguments.ram)) {
    return usage_error(fmt::format("--memory and {} cannot be combined: --memory is shared by CPU and GPU",
                                   arguments.gpu ? "--gpu" : "--ram"));
  }
  if (arguments.mac && (arguments.gpu || arguments.ram || arguments.memory)) {
    return usage_error(fmt::format("--mac and {} cannot be combined: a Mac has one memory, shared by CPU and GPU",
                                   arguments.gpu   ? "--gpu"
                                   : arguments.ram ? "--ram"
                                                   : "--memory"));
  }
  if (arguments.margin && !arguments.memory && !arguments.mac && !arguments.gpu && !arguments.ram) {
    return usage_error("--margin needs --gpu, --ram, --memory or --mac");
  }
  return {};
}

Result<memory::RunOptions> run_options(const FitArguments& arguments) {
  memory::RunOptions run;
  run.sequences = arguments.sequences.value_or(run.sequences);
  run.batch = arguments.batch.value_or(run.batch);
  run.ubatch = arguments.ubatch.value_or(run.ubatch);
  for (const auto& [name, value] :
       {std::pair("--sequences", run.sequences), {"--batch", run.batch}, {"--ubatch", run.ubatch}}) {
    if (value == 0) return usage_error(fmt::format("{} must be at least 1", name));
  }
  run.unified = arguments.unified;
  run.flash_attention = arguments.flash_attention != "off";
  run.full_windows = arguments.full_windows;
  if (arguments.kv) {
    MU_ASSIGN(std::tie(run.k_type, run.v_type), parse_cache_types(*arguments.kv));
  }
  if (!run.flash_attention && type_info(run.v_type).block_elements > 1) {
    return usage_error(
        "--flash-attention off: llama.cpp then does not accept a quantised V cache; choose another --kv");
  }
  return run;
}

}  // namespace

void add_fit_flags(Command& command, FitArguments& arguments) {
  command.add(fit_switch("--fit",
                         "Estimate the memory needed in llama.cpp and how many layers fit on the GPU; with -v layer by "
                         "layer. In these options K, M and G are powers of 1024, not of 1000 as in --split-max-size"),
              arguments.fit);
  command.add(fit_flag("--context", "N,N…", "Context length in tokens (default: the model's training context)",
                       ValueKind::text),
              arguments.contexts);
  command.add(
      fit_flag("--gpu", "SIZE[,SIZE…]", "GPU memory, such as 24G; for several GPUs, one size each", ValueKind::size),
      arguments.gpu);
  Flag projector = fit_flag("--mmproj", "FILE", "A projector that is loaded with the model", ValueKind::file);
  projector.file_patterns = {"*.gguf"};
  command.add(std::move(projector), arguments.mmproj);
  command.add_memory(fit_flag("--ram", "SIZE", "Host memory; without --gpu, no GPU is assumed", ValueKind::size),
                     arguments.ram);
  command.add_memory(fit_flag("--memory", "SIZE", "Unified memory, shared by CPU and GPU", ValueKind::size),
                     arguments.memory);
  command.add_memory(fit_flag("--mac", "SIZE",
                              "Memory of a Mac with Apple silicon, of which macOS gives its GPU two thirds by default, "
                              "three quarters from 36G on",
                              ValueKind::size),
                     arguments.mac);
  command.add_memory(fit_flag("--margin", "SIZE", "Memory to leave free (default: 1G)", ValueKind::size),
                     arguments.margin);
  command.add(fit_flag("--kv", "TYPE[,TYPE]",
                       "KV cache type: f16 (default), q8_0, q4_0, …; one for both keys and values, or one for each",
                       ValueKind::text),
              arguments.kv);
  command.add(fit_flag("--sequences", "N", "Parallel sequences (llama.cpp's -np; default: 1)", ValueKind::number),
              arguments.sequences);
  command.add(fit_switch("--unified", "All sequences share one KV cache (--kv-unified)"), arguments.unified);
  command.add(fit_flag("--batch", "N", "Batch size in tokens (-b; default: 2048)", ValueKind::number), arguments.batch);
  command.add(fit_flag("--ubatch", "N", "Micro-batch size in tokens (-ub; default: 512)", ValueKind::number),
              arguments.ubatch);
  Flag flash = fit_flag("--flash-attention", "WHEN", "Flash attention (default: on)", ValueKind::choice);
  flash.choices = {"on", "off"};
  command.add(std::move(flash), arguments.flash_attention);
  command.add(fit_switch("--swa-full", "Cache the full context in sliding-window layers"), arguments.full_windows);
}

Result<std::optional<memory::FitRequest>> fit_request(const FitArguments& arguments) {
  if (!arguments.fit) {
    MU_TRY(check_alone(arguments));
    return std::nullopt;
  }
  MU_TRY(check_together(arguments));
  memory::FitRequest request;
  MU_ASSIGN(request.run, run_options(arguments));
  if (arguments.contexts) {
    MU_ASSIGN(request.contexts, parse_contexts(*arguments.contexts));
  }
  if (arguments.mmproj) {
    MU_ASSIGN(const gguf::SplitSet set, gguf::open_set(*arguments.mmproj));
    MU_ASSIGN(request.projector, memory::projector_memory(set));
    if (!request.projector) {
      return input_error("fit-projector", "is not a projector (general.architecture is not clip)", {}, {},
                         *arguments.mmproj);
    }
  }
  if (arguments.gpu) MU_TRY(set_gpus(*arguments.gpu, request.available));
  request.available.ram = arguments.ram;
  request.available.unified = arguments.mac ? memory::gpu_share_of_mac(*arguments.mac) : arguments.memory;
  request.available.mac = arguments.mac;
  request.available.margin = arguments.margin.value_or(memory::default_margin);
  return request;
}

}  // namespace modelutils::cli
