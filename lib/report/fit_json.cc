#include <algorithm>

#include "json/writer.h"
#include "report/fit_report.h"

namespace modelutils {

namespace {

using memory::ContextFit;
using memory::FitReport;

class FitJson {
 public:
  FitJson(const std::string& path, const FitReport& report) : path_(path), report_(report) {}

  std::string text() {
    out_.begin_object();
    out_.member("schema", "fit/1");
    out_.member("path", path_);
    out_.member("architecture", report_.architecture);
    if (report_.is_draft) out_.member("draft", true);
    optional("trained_context", report_.trained_context);
    write_options();
    out_.key("contexts");
    out_.begin_array();
    for (const ContextFit& fit : report_.contexts) write_context(fit);
    out_.end_array();
    out_.end_object();
    out_.end_line();
    return out_.text();
  }

 private:
  void optional(std::string_view name, const std::optional<u64>& value) {
    out_.key(name);
    if (value) {
      out_.number(*value);
    } else {
      out_.null();
    }
  }

  // Writes a value that exists only for known architectures.
  void known(std::string_view name, u64 value) {
    optional(name, report_.is_known ? std::optional<u64>(value) : std::nullopt);
  }

  static std::string lower(std::string_view text) {
    std::string name(text);
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return name;
  }

  void write_options() {
    const memory::RunOptions& run = report_.request.run;
    const memory::Available& available = report_.request.available;
    out_.key("options");
    out_.begin_object();
    out_.member("runtime", memory::runtime);
    out_.key("context");
    out_.begin_array();
    for (const ContextFit& fit : report_.contexts) out_.number(fit.run.context);
    out_.end_array();
    out_.key("kv");
    out_.begin_array();
    out_.string(lower(type_name(run.k_type)));
    out_.string(lower(type_name(run.v_type)));
    out_.end_array();
    out_.member("sequences", run.sequences);
    out_.member("unified", run.unified);
    out_.member("batch", run.batch);
    out_.member("ubatch", run.ubatch);
    out_.member("flash_attention", run.flash_attention);
    out_.member("swa_full", run.full_windows);
    optional("gpu", available.gpu);
    out_.key("gpus");
    out_.begin_array();
    for (const u64 gpu : available.gpus) out_.number(gpu);
    out_.end_array();
    optional("ram", available.ram);
    optional("memory", available.unified);
    out_.member("margin", available.margin);
    out_.end_object();
  }

  void write_layers(const ContextFit& fit) {
    out_.key("layers");
    out_.begin_array();
    for (const memory::LayerCache& layer : fit.caches.layers) {
      out_.begin_object();
      out_.member("layer", layer.layer);
      out_.member("kind", memory::kind_name(layer.kind));
      out_.member("cells", layer.cells);
      out_.member("streams", layer.streams);
      out_.member("k_bytes", layer.k_bytes);
      out_.member("v_bytes", layer.v_bytes);
      out_.end_object();
    }
    out_.end_array();
  }

  void write_gpus(const memory::Usage& usage) {
    out_.key("gpus");
    out_.begin_array();
    for (const memory::GpuShare& gpu : usage.gpus) {
      out_.begin_object();
      out_.member("first_layer", gpu.first_layer);
      out_.member("layers", gpu.layers);
      out_.member("weights_bytes", gpu.weights);
      out_.member("cache_bytes", gpu.caches);
      out_.member("compute_bytes", gpu.compute);
      out_.member("total_bytes", gpu.total());
      out_.end_object();
    }
    out_.end_array();
  }

  void write_context(const ContextFit& fit) {
    const memory::Caches& caches = fit.caches;
    const memory::Usage& usage = fit.usage;
    out_.begin_object();
    known("n_ctx", fit.extent.n_ctx);
    known("k_bytes", caches.k_bytes);
    known("v_bytes", caches.v_bytes);
    known("r_bytes", caches.rolling_bytes);
    known("s_bytes", caches.state_bytes);
    if (caches.f32_bytes > 0) out_.member("comp_state_bytes", caches.f32_bytes);
    write_layers(fit);
    out_.key("weights");
    out_.begin_object();
    out_.member("gpu_bytes", usage.gpu_weights);
    out_.member("host_bytes", usage.host_weights);
    out_.end_object();
    out_.key("compute");
    out_.begin_object();
    known("gpu_bytes", usage.compute.gpu_bytes);
    known("host_bytes", usage.compute.host_bytes);
    known("low_bytes", usage.compute.low_bytes);
    known("high_bytes", usage.compute.high_bytes);
    out_.end_object();
    out_.key("total");
    out_.begin_object();
    known("gpu_bytes", usage.gpu_total);
    known("host_bytes", usage.host_total);
    out_.end_object();
    out_.key("fits");
    if (fit.fits) {
      out_.boolean(*fit.fits);
    } else {
      out_.null();
    }
    out_.key("fits_at_most");
    if (fit.fits && !fit.options.empty()) {
      out_.boolean(fit.fits_at_most);
    } else {
      out_.null();
    }
    out_.key("options");
    fit.options.empty() ? out_.null() : out_.string(fit.options);
    write_gpus(usage);
    optional("ngl", fit.gpu_layers);
    optional("n_cpu_moe", fit.host_expert_blocks);
    out_.key("alternatives");
    out_.begin_array();
    for (const memory::Alternative& alternative : fit.alternatives) {
      out_.begin_object();
      out_.member("gives_up", memory::sacrifice_name(alternative.sacrifice));
      out_.member("options", alternative.options);
      out_.member("costs", alternative.costs);
      out_.member("gpu_bytes", alternative.usage.gpu_total);
      out_.member("host_bytes", alternative.usage.host_total);
      out_.member("compute_low_bytes", alternative.usage.compute.low_bytes);
      out_.member("compute_high_bytes", alternative.usage.compute.high_bytes);
      write_gpus(alternative.usage);
      out_.end_object();
    }
    out_.end_array();
    out_.end_object();
  }

  const std::string& path_;
  const FitReport& report_;
  json::Writer out_;
};

}  // namespace

void write_fit_json(TextOutput& out, const std::string& path, const FitReport& report) {
  out << FitJson(path, report).text();
}

}  // namespace modelutils
