#include "report/fit_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/table.h"

namespace modelutils {

std::string shell_word(std::string_view argument, std::string_view otherwise) {
  if (argument.empty() || needs_escape(argument)) return std::string(otherwise);
  const auto is_plain = [](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_letter || std::string_view("_./+,@:%=-").find(c) != std::string_view::npos;
  };
  if (std::ranges::all_of(argument, is_plain)) {
    // An argument that begins with a dash would be read as an option.
    return argument.front() == '-' ? "./" + std::string(argument) : std::string(argument);
  }
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_lines(std::string_view command, std::size_t indent, std::size_t width) {
  std::string text, line(indent, ' ');
  bool is_first = true;
  while (!command.empty()) {
    const std::size_t end = std::min(command.find(" -", 1), command.size());
    const std::string_view option = command.substr(0, end);
    command.remove_prefix(std::min(end + 1, command.size()));
    const std::size_t behind = command.empty() ? 0 : 2;  // room for the backslash
    if (!is_first && width > 0 && display_width(line) + 1 + display_width(option) + behind > width) {
      text += line + " \\\n";
      line.assign(indent + 2, ' ');
    } else if (!is_first) {
      line += ' ';
    }
    line += option;
    is_first = false;
  }
  return text + line + "\n";
}

namespace {

using memory::Alternative;
using memory::Available;
using memory::ContextFit;
using memory::FitReport;
using memory::LayerCache;

constexpr std::string_view none = "–";

// All sizes of a report have the same unit, so that they can be compared and added up.
std::string gigabytes(u64 bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / 1e9);
}

std::string megabytes(u64 bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / 1e6);
}

class FitText {
 public:
  FitText(TextOutput& out, const std::string& path, const FitReport& report, const FitOptions& options)
      : out_(out), path_(path), report_(report), options_(options), style_(options.color) {}

  void write() {
    out_ << style_(Paint::title, path_ == "-" ? "standard input" : escape(path_)) << "\n";
    if (report_.is_projector) {
      line("projector", {"what it adds to its model's memory"});
    } else {
      line("architecture",
           {escape(report_.architecture), fmt::format("{} and the output layer", counted(report_.blocks, "layer"))});
    }
    if (!report_.is_projector && report_.request.projector) line("projector", projector_texts());
    if (report_.is_planned) line("counted", {"the GGUF that mlx2gguf would write"});
    if (report_.is_known) line("runs with", run_texts());
    if (report_.request.available.is_limited()) line("memory", available_texts());
    out_ << "\n";
    write_sizes();
    if (report_.is_known) out_ << "\n";
    for (const ContextFit& context : report_.contexts) write_verdict(context);
    if (options_.layers) {
      for (const ContextFit& context : report_.contexts) write_layers(context);
    }
    write_notes();
  }

 private:
  void line(std::string_view label, const std::vector<std::string>& facts) {
    out_ << fact_lines(label, facts, options_.width, style_);
  }

  std::vector<std::string> run_texts() const {
    const memory::RunOptions& run = report_.request.run;
    std::string cache(type_name(run.k_type));
    if (run.v_type != run.k_type) cache += fmt::format("/{}", type_name(run.v_type));
    cache += run.unified ? " cache, unified" : " cache";
    return {counted(run.sequences, "sequence"),
            fmt::format("batch {}, micro-batch {}", thousands(run.batch), thousands(run.ubatch)), cache,
            run.flash_attention ? "flash attention" : "no flash attention",
            run.full_windows ? "full cache for sliding windows" : ""};
  }

  std::vector<std::string> projector_texts() const {
    const memory::ProjectorMemory& projector = *report_.request.projector;
    return {escape(projector.path), fmt::format("weights {} GB", gigabytes(projector.weights)),
            fmt::format("compute {} GB", gigabytes(projector.compute)), "included below"};
  }

  std::vector<std::string> available_texts() const {
    const Available& available = report_.request.available;
    std::string margin = fmt::format(", {} GB of it left free", gigabytes(available.margin));
    if (available.mac) {
      return {fmt::format("Mac {} GB", gigabytes(*available.mac)),
              fmt::format("{} GB for its GPU{}", gigabytes(*available.unified), margin)};
    }
    if (available.unified) return {fmt::format("unified {} GB{}", gigabytes(*available.unified), margin)};
    if (!available.gpu) return {"no GPU", fmt::format("RAM {} GB{}", gigabytes(*available.ram), margin)};
    std::string gpus = "GPU ";
    for (std::size_t i = 0; i < available.gpus.size(); ++i)
      gpus += (i == 0 ? "" : " + ") + gigabytes(available.gpus[i]);
    if (available.gpus.empty()) {
      gpus += gigabytes(*available.gpu);
    } else {
      margin = fmt::format(", {} GB of each left free", gigabytes(available.margin));
    }
    return {gpus + " GB" + margin, available.ram ? fmt::format("RAM {} GB", gigabytes(*available.ram)) : std::string()};
  }

  std::string tokens(const ContextFit& context) const {
    return report_.is_known ? thousands(context.run.context) : std::string(none);
  }

  void write_sizes() {
    const std::vector<Column> columns = {
        {"context", Align::right},     {"weights", Align::right},       {"KV cache", Align::right},
        {"state", Align::right, 0, 2}, {"compute", Align::right, 0, 1}, {"from – to", Align::left, 0, 3},
        {"GPU", Align::right},         {"host", Align::right},          {"layers on GPU", Align::right}};
    const RowSource row = [&](std::size_t number, std::vector<Cell>& cells) {
      const ContextFit& context = report_.contexts[number];
      const memory::Usage& usage = context.usage;
      const memory::ComputeSizes& compute = usage.compute;
      const auto known = [&](const std::string& text) { return Cell{report_.is_known ? text : std::string(none), {}}; };
      const auto buffer = [&](const std::string& text) {
        return Cell{report_.is_known || report_.is_projector ? text : std::string(none), {}};
      };
      cells = {
          {tokens(context), Paint::number},
          {gigabytes(usage.gpu_weights + usage.host_weights), {}},
          known(gigabytes(context.caches.attention_bytes())),
          known(context.caches.recurrent_bytes() > 0 ? gigabytes(context.caches.recurrent_bytes()) : std::string(none)),
          buffer(gigabytes(compute.gpu_bytes + compute.host_bytes)),
          buffer(range_text(compute)),
          {gigabytes(usage.gpu_total), {}},
          {gigabytes(usage.host_total), {}},
          known(layers_text(context))};
    };
    write_table(out_, columns, report_.contexts.size(), row, {options_.width, 2, true, style_});
  }

  static std::string range_text(const memory::ComputeSizes& compute) {
    return fmt::format("{} – {}", gigabytes(compute.low_bytes), gigabytes(compute.high_bytes));
  }

  std::string layers_text(const ContextFit& context) const {
    if (!context.gpu_layers) return std::string(none);
    return fmt::format("{} of {}", *context.gpu_layers, report_.blocks + 1);
  }

  void write_command(const std::string& options, std::size_t indent) {
    constexpr std::string_view some_model = "MODEL.gguf";
    const std::string& file = report_.model_file;
    const bool is_here = !report_.is_planned && path_ != "-" && file.find("://") == std::string::npos;
    out_ << command_lines("llama-server -m " + (is_here ? shell_word(file, some_model) : std::string(some_model)) +
                              projector_option() + " " + options,
                          indent, options_.width);
  }

  std::string projector_option() const {
    const auto& projector = report_.request.projector;
    return projector ? " --mmproj " + shell_word(projector->path, "MMPROJ.gguf") : std::string();
  }

  // Writes the memory use of each GPU.
  void write_gpus(const memory::Usage& usage, std::size_t indent) {
    for (std::size_t i = 0; i < usage.gpus.size(); ++i) {
      const memory::GpuShare& gpu = usage.gpus[i];
      std::string what = "nothing";
      if (gpu.layers > 0) {
        const u64 last = gpu.first_layer + gpu.layers - 1;
        const u64 last_block = std::min(last, report_.blocks - 1);
        what = gpu.first_layer == report_.blocks ? "the output layer"
               : gpu.first_layer == last_block   ? fmt::format("layer {}", last_block)
                                                 : fmt::format("layers {}–{}", gpu.first_layer, last_block);
        if (last == report_.blocks && gpu.layers > 1) what += " and the output layer";
      }
      out_ << fmt::format("{:{}}GPU {}: {}, {} of {} GB\n", "", indent, i, what, gigabytes(gpu.total()),
                          gigabytes(gpu.room));
    }
  }

  // Warns if the model fits by the estimate but not at the upper end of its range.
  void write_doubt(const ContextFit& context) {
    if (context.fits_at_most || !report_.request.available.is_limited()) return;
    paragraph(fmt::format("This is close: the estimated compute buffers ({} GB) may be too low; with {} GB, the "
                          "largest measured, the model would not fit.",
                          gigabytes(context.usage.compute.gpu_bytes + context.usage.compute.host_bytes),
                          gigabytes(context.usage.compute.high_bytes)),
              4);
  }

  void write_verdict(const ContextFit& context) {
    if (!report_.is_known) return;
    const std::string head = fmt::format("  {} tokens", tokens(context));
    if (!context.fits.has_value() || *context.fits) {
      out_ << head << (context.fits ? " " + style_(Paint::bits_16, "fit") : "") << ":\n";
      write_command(context.options, 4);
      write_gpus(context.usage, 4);
      write_doubt(context);
      return;
    }
    out_ << head << " " << style_(Paint::bad, "do not fit");
    if (context.alternatives.empty()) {
      out_ << ", and no option helps:\n  use a smaller quantisation or more memory\n";
      return;
    }
    out_ << ". Alternatives, cheapest first:\n";
    for (const Alternative& alternative : context.alternatives) {
      const memory::Usage& usage = alternative.usage;
      std::string text = fmt::format("    {} – GPU {}, host {} GB", alternative.costs, gigabytes(usage.gpu_total),
                                     gigabytes(usage.host_total));
      if (has_wide_range(usage.compute)) text += fmt::format(", of which compute {}", range_text(usage.compute));
      std::string wrapped;
      append_wrapped(wrapped, text.substr(4), 4, 6, text_width());
      out_ << "    " << wrapped;
      write_command(alternative.options, 6);
      write_gpus(usage, 6);
    }
  }

  // True if the estimate is so rough that its range should be shown next to the sum.
  static bool has_wide_range(const memory::ComputeSizes& compute) {
    return compute.gpu_range.most > memory::gpu_error.most || compute.host_range.most > memory::host_error.most;
  }

  void write_layers(const ContextFit& context) {
    if (!report_.is_known) return;
    const std::vector<LayerCache>& layers = context.caches.layers;
    out_ << "\n" << style_(Paint::heading, fmt::format("Layers at {} tokens", tokens(context))) << "\n";
    std::vector<const LayerCache*> sorted;
    for (const LayerCache& layer : layers) sorted.push_back(&layer);
    std::ranges::stable_sort(sorted, {}, &LayerCache::layer);
    const std::vector<Column> columns = {
        {"layer", Align::right}, {"kind"}, {"cells", Align::right}, {"streams", Align::right}, {"K MB", Align::right},
        {"V MB", Align::right},  {"on"}};
    const u64 first = context.usage.placement.first_gpu_layer(report_.blocks);
    const RowSource row = [&](std::size_t number, std::vector<Cell>& cells) {
      const LayerCache& layer = *sorted[number];
      cells = {{std::to_string(layer.layer), Paint::number},
               {std::string(memory::kind_name(layer.kind)), {}},
               {thousands(layer.cells), {}},
               {std::to_string(layer.streams), {}},
               {megabytes(layer.k_bytes), {}},
               {megabytes(layer.v_bytes), {}},
               {layer.layer >= first ? "GPU" : "host", {}}};
    };
    write_table(out_, columns, sorted.size(), row, {options_.width, 2, true, style_});
  }

  // Lines have a comfortable reading width, even in a file.
  std::size_t text_width() const { return options_.width == 0 ? 80 : std::min<std::size_t>(options_.width, 100); }

  void paragraph(const std::string& text, std::size_t indent) {
    std::string lines;
    append_wrapped(lines, text, indent, indent, text_width());
    lines.pop_back();
    out_ << std::string(indent, ' ') << style_(Paint::faint, lines) << "\n";
  }

  void note(const std::string& text) { paragraph(text, 0); }

  // Warns if a context exceeds the trained one: the model fits, but answers get worse.
  void warn_of_contexts() {
    for (const ContextFit& context : report_.contexts) {
      if (report_.trained_context.value_or(0) == 0 || context.run.context <= *report_.trained_context) continue;
      note(fmt::format("Warning: the model was trained for {} tokens; with more, such as {}, answers get worse.",
                       thousands(*report_.trained_context), thousands(context.run.context)));
      return;
    }
  }

  // Gives the error range of estimates that are rougher than with all layers on one GPU.
  void warn_of_estimates() {
    for (const ContextFit& context : report_.contexts) {
      const memory::ComputeSizes& compute = context.usage.compute;
      if (!has_wide_range(compute)) continue;
      const bool has_gpu = context.usage.placement.has_gpu;
      note(fmt::format(
          "With {}, the estimated compute buffers in host memory were {:g} to {:g} times the measured ones{}.",
          has_gpu ? "a part of the model on the GPU" : "no GPU", compute.host_range.least, compute.host_range.most,
          has_gpu
              ? fmt::format(", those on the GPU {:g} to {:g} times", compute.gpu_range.least, compute.gpu_range.most)
              : std::string()));
      break;
    }
    if (!report_.request.available.gpus.empty()) {
      note(
          "Several GPUs: each is assumed to need the compute buffers of a single one. This was not measured; if the "
          "runtime pipelines batches, masks and inputs exist up to four times.");
    }
  }

  static std::string projector_note(const memory::ProjectorMemory& projector) {
    return fmt::format(
        "The projector's buffer is an estimate of what llama.cpp reserves when it starts{}; larger ones and several at "
        "once take more.",
        projector.picture > 0 ? fmt::format(", for a picture of {0} × {0} pixels", projector.picture)
                              : std::string(", for 30 seconds of sound"));
  }

  void write_notes() {
    out_ << "\n";
    warn_of_contexts();
    if (report_.unknown_sizes > 0) {
      note(fmt::format("{} of unknown type {} not counted.", counted(report_.unknown_sizes, "tensor"),
                       verb(report_.unknown_sizes, "is", "are")));
    }
    if (report_.part) {
      note(fmt::format("Only part {} of {} is present: the weights of the others are not counted.",
                       report_.part->number, report_.part->count));
    }
    note(report_.request.available.is_limited()
             ? "Sizes in GB (10^9 bytes). An option's 24G is 24 GiB, which are 25.77 GB."
             : "Sizes in GB (10^9 bytes).");
    if (report_.request.projector) note(projector_note(*report_.request.projector));
    if (report_.is_projector) return;
    if (!report_.is_known) {
      note(fmt::format("The architecture '{}' is not known: only the weights are counted, not the cache.",
                       escape(report_.architecture)));
      return;
    }
    note(fmt::format(
        "KV cache and state: exact for {}. Compute buffers: an estimate; 'from – to' is the measured range, which "
        "other backends may exceed. Not counted: CUDA's context and memory pools (hundreds of MB).",
        memory::runtime));
    warn_of_estimates();
    if (report_.is_draft) {
      note("This file is a draft: the memory of the model it drafts for comes on top.");
    }
    if (report_.has_encoder) {
      note("This model has an encoder and a decoder: its compute buffers may be many times larger.");
    }
  }

  TextOutput& out_;
  const std::string& path_;
  const FitReport& report_;
  const FitOptions& options_;
  Style style_;
};

}  // namespace

void write_fit_text(TextOutput& out, const std::string& path, const FitReport& report, const FitOptions& options) {
  FitText(out, path, report, options).write();
}

}  // namespace modelutils
