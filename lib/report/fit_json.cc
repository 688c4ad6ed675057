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
    {
      const auto in_object = out_.object();
      out_.member("schema", "fit/1");
      out_.member("path", path_);
      out_.member("architecture", report_.architecture);
      if (report_.is_draft) out_.member("draft", true);
      if (const auto& projector = report_.request.projector) {
        const auto in_projector = out_.object("projector");
        out_.member("path", projector->path);
        out_.member("weights_bytes", projector->weights);
        out_.member("compute_bytes", projector->compute);
        out_.member("picture", projector->picture);
      }
      out_.member_or_null("trained_context", report_.trained_context);
      write_options();
      const auto in_contexts = out_.array("contexts");
      for (const ContextFit& fit : report_.contexts) write_context(fit);
    }
    out_.end_line();
    return out_.text();
  }

 private:
  // Writes a value that exists only for known architectures.
  void known(std::string_view name, u64 value) {
    out_.member_or_null(name, report_.is_known || report_.is_projector ? std::optional<u64>(value) : std::nullopt);
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
    const auto in_options = out_.object("options");
    out_.member("runtime", memory::runtime);
    {
      const auto in_context = out_.array("context");
      for (const ContextFit& fit : report_.contexts) out_.number(fit.run.context);
    }
    {
      const auto in_kv = out_.array("kv");
      out_.string(lower(type_name(run.k_type)));
      out_.string(lower(type_name(run.v_type)));
    }
    out_.member("sequences", run.sequences);
    out_.member("unified", run.unified);
    out_.member("batch", run.batch);
    out_.member("ubatch", run.ubatch);
    out_.member("flash_attention", run.flash_attention);
    out_.member("swa_full", run.full_windows);
    out_.member_or_null("gpu", available.gpu);
    out_.values("gpus", available.gpus);
    out_.member_or_null("ram", available.ram);
    out_.member_or_null("memory", available.unified);
    out_.member_or_null("mac", available.mac);
    out_.member("margin", available.margin);
  }

  void write_layers(const ContextFit& fit) {
    const auto in_layers = out_.array("layers");
    for (const memory::LayerCache& layer : fit.caches.layers) {
      const auto in_object = out_.object();
      out_.member("layer", layer.layer);
      out_.member("kind", memory::kind_name(layer.kind));
      out_.member("cells", layer.cells);
      out_.member("streams", layer.streams);
      out_.member("k_bytes", layer.k_bytes);
      out_.member("v_bytes", layer.v_bytes);
    }
  }

  void write_gpus(const memory::Usage& usage) {
    const auto in_gpus = out_.array("gpus");
    for (const memory::GpuShare& gpu : usage.gpus) {
      const auto in_object = out_.object();
      out_.member("first_layer", gpu.first_layer);
      out_.member("layers", gpu.layers);
      out_.member("weights_bytes", gpu.weights);
      out_.member("cache_bytes", gpu.caches);
      out_.member("compute_bytes", gpu.compute);
      out_.member("total_bytes", gpu.total());
    }
  }

  void write_context(const ContextFit& fit) {
    const memory::Caches& caches = fit.caches;
    const memory::Usage& usage = fit.usage;
    const auto in_object = out_.object();
    known("n_ctx", fit.extent.n_ctx);
    known("k_bytes", caches.k_bytes);
    known("v_bytes", caches.v_bytes);
    known("r_bytes", caches.rolling_bytes);
    known("s_bytes", caches.state_bytes);
    if (caches.f32_bytes > 0) out_.member("comp_state_bytes", caches.f32_bytes);
    write_layers(fit);
    {
      const auto in_weights = out_.object("weights");
      out_.member("gpu_bytes", usage.gpu_weights);
      out_.member("host_bytes", usage.host_weights);
    }
    {
      const auto in_compute = out_.object("compute");
      known("gpu_bytes", usage.compute.gpu_bytes);
      known("host_bytes", usage.compute.host_bytes);
      known("low_bytes", usage.compute.low_bytes);
      known("high_bytes", usage.compute.high_bytes);
    }
    {
      const auto in_total = out_.object("total");
      known("gpu_bytes", usage.gpu_total);
      known("host_bytes", usage.host_total);
    }
    out_.member_or_null("fits", fit.fits);
    out_.key("fits_at_most");
    if (fit.fits && !fit.options.empty()) {
      out_.boolean(fit.fits_at_most);
    } else {
      out_.null();
    }
    out_.text_or_null("options", fit.options);
    write_gpus(usage);
    out_.member_or_null("ngl", fit.gpu_layers);
    out_.member_or_null("n_cpu_moe", fit.host_expert_blocks);
    const auto in_alternatives = out_.array("alternatives");
    for (const memory::Alternative& alternative : fit.alternatives) {
      const auto in_item = out_.object();
      out_.member("gives_up", memory::sacrifice_name(alternative.sacrifice));
      out_.member("options", alternative.options);
      out_.member("costs", alternative.costs);
      out_.member("gpu_bytes", alternative.usage.gpu_total);
      out_.member("host_bytes", alternative.usage.host_total);
      out_.member("compute_low_bytes", alternative.usage.compute.low_bytes);
      out_.member("compute_high_bytes", alternative.usage.compute.high_bytes);
      write_gpus(alternative.usage);
    }
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
