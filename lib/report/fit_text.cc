#include <fmt/core.h>

#include <algorithm>

#include "base/counted.h"
#include "base/escape.h"
#include "report/fit_report.h"
#include "report/table.h"

namespace modelutils {

namespace {

using memory::Alternative;
using memory::Available;
using memory::ContextFit;
using memory::FitReport;
using memory::LayerCache;

constexpr std::string_view none = "–";

std::string gib(u64 bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(u64{1} << 30));
}

std::string mib(u64 bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(u64{1} << 20));
}

class FitText {
 public:
  FitText(TextOutput& out, const std::string& path, const FitReport& report, const FitOptions& options)
      : out_(out), path_(path), report_(report), options_(options), style_(options.color) {}

  void write() {
    out_ << style_(Paint::title, path_ == "-" ? "standard input" : escape(path_)) << "\n";
    line("architecture",
         fmt::format("{} · {} and the output layer", escape(report_.architecture), counted(report_.blocks, "layer")));
    if (report_.is_known) line("runs with", run_text());
    if (report_.request.available.is_limited()) line("memory", available_text());
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
  void line(std::string_view label, const std::string& text) {
    out_ << "  " << style_(Paint::label, label) << std::string(14 - std::min<std::size_t>(13, label.size()), ' ')
         << text << "\n";
  }

  std::string run_text() const {
    const memory::RunOptions& run = report_.request.run;
    std::string cache(type_name(run.k_type));
    if (run.v_type != run.k_type) cache += fmt::format("/{}", type_name(run.v_type));
    std::string text =
        fmt::format("{} · batches of {}, computed {} at once · {} cache", counted(run.sequences, "sequence"),
                    thousands(run.batch), thousands(run.ubatch), cache);
    if (run.unified) text += ", unified";
    text += run.flash_attention ? " · flash attention" : " · no flash attention";
    if (run.full_windows) text += " · windows cached in full";
    return text;
  }

  std::string available_text() const {
    const Available& available = report_.request.available;
    const std::string margin = fmt::format(", {} GiB of it left free", gib(available.margin));
    if (available.unified) return fmt::format("unified {} GiB{}", gib(*available.unified), margin);
    if (!available.gpu) return fmt::format("no GPU · RAM {} GiB{}", gib(*available.ram), margin);
    std::string text = fmt::format("GPU {} GiB{}", gib(*available.gpu), margin);
    if (available.ram) text += fmt::format(" · RAM {} GiB", gib(*available.ram));
    return text;
  }

  std::string tokens(const ContextFit& context) const {
    return report_.is_known ? thousands(context.run.context) : std::string(none);
  }

  void write_sizes() {
    std::vector<Column> columns = {{"context", Align::right},  {"weights", Align::right},
                                   {"KV cache", Align::right}, {"state", Align::right},
                                   {"compute (from – to)"},    {"GPU", Align::right},
                                   {"host", Align::right},     {"layers on GPU", Align::right}};
    const RowSource row = [&](std::size_t number, std::vector<Cell>& cells) {
      const ContextFit& context = report_.contexts[number];
      const memory::Usage& usage = context.usage;
      const memory::ComputeSizes& compute = usage.compute;
      const auto known = [&](const std::string& text) { return Cell{report_.is_known ? text : std::string(none), {}}; };
      cells = {{tokens(context), Paint::number},
               {gib(usage.gpu_weights + usage.host_weights), {}},
               known(gib(context.caches.attention_bytes())),
               known(context.caches.recurrent_bytes() > 0 ? gib(context.caches.recurrent_bytes()) : std::string(none)),
               known(fmt::format("{} ({} – {})", gib(compute.gpu_bytes + compute.host_bytes), gib(compute.low_bytes),
                                 gib(compute.high_bytes))),
               {gib(usage.gpu_total), {}},
               {gib(usage.host_total), {}},
               known(layers_text(context))};
    };
    write_table(out_, columns, report_.contexts.size(), row, {options_.width, 2, true, style_});
  }

  std::string layers_text(const ContextFit& context) const {
    if (!context.gpu_layers) return std::string(none);
    return fmt::format("{} of {}", *context.gpu_layers, report_.blocks + 1);
  }

  void write_verdict(const ContextFit& context) {
    if (!report_.is_known) return;
    const std::string head = fmt::format("  {} tokens: ", tokens(context));
    if (!context.fits) {
      out_ << head << context.options << "\n";
      return;
    }
    if (*context.fits) {
      out_ << head << style_(Paint::bits_16, "fits") << ": " << context.options << "\n";
      return;
    }
    out_ << head << style_(Paint::bad, "does not fit");
    if (context.alternatives.empty()) {
      out_ << ", and no option helps: it takes a smaller quantisation or more memory\n";
      return;
    }
    out_ << "; what does, the best first:\n";
    for (const Alternative& alternative : context.alternatives) {
      out_ << fmt::format("    {} — GPU {}, host {} GiB ({})\n", alternative.options, gib(alternative.usage.gpu_total),
                          gib(alternative.usage.host_total), alternative.costs);
    }
  }

  void write_layers(const ContextFit& context) {
    if (!report_.is_known) return;
    const std::vector<LayerCache>& layers = context.caches.layers;
    out_ << "\n" << style_(Paint::heading, fmt::format("Layers at {} tokens", tokens(context))) << "\n";
    std::vector<const LayerCache*> sorted;
    for (const LayerCache& layer : layers) sorted.push_back(&layer);
    std::ranges::stable_sort(sorted, {}, &LayerCache::layer);
    const std::vector<Column> columns = {
        {"layer", Align::right}, {"kind"}, {"cells", Align::right}, {"streams", Align::right}, {"K MiB", Align::right},
        {"V MiB", Align::right}, {"on"}};
    const u64 first = context.usage.placement.first_gpu_layer(report_.blocks);
    const RowSource row = [&](std::size_t number, std::vector<Cell>& cells) {
      const LayerCache& layer = *sorted[number];
      cells = {{std::to_string(layer.layer), Paint::number},
               {std::string(memory::kind_name(layer.kind)), {}},
               {thousands(layer.cells), {}},
               {std::to_string(layer.streams), {}},
               {mib(layer.k_bytes), {}},
               {mib(layer.v_bytes), {}},
               {layer.layer >= first ? "GPU" : "host", {}}};
    };
    write_table(out_, columns, sorted.size(), row, {options_.width, 2, true, style_});
  }

  void note(const std::string& text) { out_ << style_(Paint::faint, text) << "\n"; }

  // It fits, and may still talk nonsense.
  void warn_of_contexts() {
    for (const ContextFit& context : report_.contexts) {
      if (report_.trained_context.value_or(0) == 0 || context.run.context <= *report_.trained_context) continue;
      note(fmt::format("Warning: the model was trained for {} tokens; beyond that, as with {}, answers get worse.",
                       thousands(*report_.trained_context), thousands(context.run.context)));
      return;
    }
  }

  void write_notes() {
    out_ << "\n";
    warn_of_contexts();
    if (report_.unknown_sizes > 0) {
      note(fmt::format("{} of unknown type {} not counted.", counted(report_.unknown_sizes, "tensor"),
                       verb(report_.unknown_sizes, "is", "are")));
    }
    if (report_.part) {
      note(fmt::format("Only part {} of {} is here: the weights of the others are not counted.", report_.part->number,
                       report_.part->count));
    }
    note("Sizes in GiB (2^30 bytes).");
    if (!report_.is_known) {
      note(
          fmt::format("The architecture '{}' is not known: weights are all that is counted; what its cache takes is "
                      "unknown.",
                      escape(report_.architecture)));
      return;
    }
    note(
        fmt::format("KV cache and state: exact for {}. Compute buffers: an estimate for one GPU that counts as CUDA "
                    "does, or none;",
                    memory::runtime));
    note(
        "the range is what was measured; other backends may be outside. Not counted: several GPUs, the context and "
        "pools of CUDA (hundreds of MiB).");
    if (report_.is_draft) {
      note("This file is not a model by itself: it drafts for one, whose memory comes on top.");
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
