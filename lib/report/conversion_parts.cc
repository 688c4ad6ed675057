#include "report/conversion_parts.h"

#include <fmt/core.h>

#include "base/counted.h"
#include "base/escape.h"

namespace modelutils {

void write_totals(json::Writer& out, std::string_view name, const KindTotals& totals) {
  out.key(name);
  out.begin_object();
  for (const auto& [kind, total] : totals) {
    out.key(kind);
    out.begin_object();
    out.member("tensors", total.tensors);
    out.member("bytes", total.bytes);
    out.end_object();
  }
  out.end_object();
}

void write_exact(json::Writer& out, const std::optional<bool>& exact) {
  out.key("exact");
  if (exact) {
    out.boolean(*exact);
  } else {
    out.null();
  }
}

void write_texts(json::Writer& out, std::string_view name, std::span<const std::string> texts) {
  out.key(name);
  out.begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
}

std::string reason_text(std::string_view reason) {
  return reason.empty() ? std::string() : " (" + escape(reason) + ")";
}

std::string counts_text(const ConversionCounts& counts, const KindTotals& totals, std::string_view separator) {
  std::string mix;
  for (const auto& [kind, total] : totals) {
    mix += fmt::format("{}{} {}", mix.empty() ? "" : separator, total.tensors, kind);
  }
  std::string exactness;
  if (counts.inexact > 0) exactness = fmt::format("{} not exact", counts.inexact);
  if (counts.unmeasured > 0) {
    exactness += fmt::format("{}{} not measured", exactness.empty() ? "" : ", ", counts.unmeasured);
  }
  return fmt::format("{} ({}), {}, {}\n", counted(counts.tensors, "tensor"), mix, counted(counts.bytes, "byte"),
                     exactness.empty() ? "all exact" : exactness);
}

}  // namespace modelutils
