#include "report/conversion_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/counted.h"
#include "base/escape.h"
#include "report/conversion_parts.h"
#include "report/json_value.h"
#include "report/remarks_json.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

KindTotals totals_by_type(const ConversionReport& report) {
  return totals_by_kind(report.tensors, [](const TensorReport& tensor) { return type_name(tensor.type); });
}

void write_tensor(json::Writer& out, const TensorReport& tensor) {
  out.begin_object();
  out.member("name", tensor.name);
  out.member("source", tensor.source);
  out.member("form", tensor.form);
  out.member("type", type_name(tensor.type));
  write_shape(out, tensor.ne);
  out.member("bytes", tensor.bytes);
  write_exact(out, tensor.exact);
  if (!tensor.reason.empty()) out.member("reason", tensor.reason);
  if (tensor.measured) {
    out.member("relative_rms_error", tensor.error.relative_rms());
    out.member("max_abs_error", tensor.error.max_abs);
  }
  out.end_object();
}

}  // namespace

std::string conversion_json(const ConversionReport& report) {
  json::Writer out;
  out.begin_object();
  out.member("schema", "mlx2gguf/1");
  out.member("input", report.input);
  out.member("architecture", report.architecture);
  out.member("name", report.name);
  out.member("dry_run", report.dry_run);
  out.key("files");
  out.begin_array();
  for (const OutputFile& file : report.files) {
    out.begin_object();
    out.key("path");
    if (file.path.empty()) {
      out.null();
    } else {
      out.string(file.path);
    }
    out.member("bytes", file.bytes);
    out.member("tensors", file.tensors);
    out.end_object();
  }
  out.end_array();
  out.key("tensors");
  out.begin_array();
  for (const TensorReport& tensor : report.tensors) write_tensor(out, tensor);
  out.end_array();
  write_texts(out, "left_out", report.left_out);
  write_remarks(out, report.remarks);
  out.key("totals");
  out.begin_object();
  out.member("tensors", static_cast<u64>(report.tensors.size()));
  out.member("inexact_tensors", report.inexact_tensors());
  if (report.dry_run) out.member("unmeasured_tensors", report.unmeasured_tensors());
  out.member("bytes", report.bytes());
  write_totals(out, "types", totals_by_type(report));
  out.end_object();
  out.end_object();
  out.end_line();
  return out.text();
}

namespace {

using AlikeTensors = Alike<TensorReport>;

std::string error_text(const AlikeTensors& group) {
  if (!group.first->exact) return ", not measured";
  if (*group.first->exact) return ", exact";
  if (!group.first->measured) return ", not exact";
  const std::string_view most = group.tensors == 1 ? "" : "up to ";
  return fmt::format(", relative RMS error {}{:.2g}, largest {}{:.2g}", most, group.rms, most, group.max_abs);
}

std::vector<AlikeTensors> alike(const ConversionReport& report, bool all) {
  return alike_tensors(
      report.tensors, all,
      [](const TensorReport& tensor) {
        return std::tuple(tensor.type, std::string_view(tensor.form), std::string_view(tensor.reason),
                          tensor.exact.has_value(), tensor.measured);
      },
      [](const TensorReport& tensor, AlikeTensors& group) {
        group.rms = std::max(group.rms, tensor.error.relative_rms());
        group.max_abs = std::max(group.max_abs, tensor.error.max_abs);
      });
}

std::string files_text(const ConversionReport& report) {
  std::string text;
  for (const OutputFile& file : report.files) {
    text += fmt::format("{}{}: {}, {}\n", report.dry_run ? "would write " : "", escape(file.path),
                        counted(file.bytes, "byte"), counted(file.tensors, "tensor"));
  }
  return text;
}

}  // namespace

std::string conversion_text(const ConversionReport& report, bool all) {
  std::string text;
  const std::vector<AlikeTensors> groups = alike(report, all);
  const std::size_t width = name_width(groups);
  for (const AlikeTensors& group : groups) {
    const TensorReport& tensor = *group.first;
    if (group.tensors == 1) {
      text += fmt::format("{:<{}}  {:>6}  {}  from {}", escape(tensor.name), width, type_name(tensor.type),
                          shape_text(tensor.ne), tensor.form);
    } else {
      text += fmt::format("{} as {} from {}", counted(group.tensors, "tensor"), type_name(tensor.type), tensor.form);
    }
    text += error_text(group) + reason_text(tensor.reason) + (group.tensors == 1 ? "\n" : "; -v lists them\n");
  }
  for (const std::string& name : report.left_out) text += "left out: " + escape(name) + '\n';
  if (report.files.size() > 1) text += files_text(report);
  const ConversionCounts counts{report.tensors.size(), report.bytes(), report.inexact_tensors(),
                                report.unmeasured_tensors()};
  return text + counts_text(counts, totals_by_type(report), ", ");
}

}  // namespace modelutils
