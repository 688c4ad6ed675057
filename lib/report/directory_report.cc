#include "report/directory_report.h"

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

using to_directory::DirectoryReport;
using to_directory::DirectoryTensorReport;

KindTotals totals_by_form(const DirectoryReport& report) {
  return totals_by_kind(report.tensors,
                        [](const DirectoryTensorReport& tensor) { return std::string_view(tensor.form); });
}

void write_form(json::Writer& out, const DirectoryTensorReport& tensor) {
  out.begin_object();
  out.member("name", tensor.name);
  out.member("source", tensor.source);
  out.member("source_type", tensor.source_type);
  out.member("form", tensor.form);
  write_shape(out, tensor.shape);
  out.member("bytes", tensor.bytes);
  write_exact(out, tensor.exact);
  out.key("rms");
  if (tensor.rms) {
    out.number(*tensor.rms);
  } else {
    out.null();
  }
  if (!tensor.reason.empty()) out.member("reason", tensor.reason);
  out.end_object();
}

}  // namespace

std::string directory_json(const DirectoryReport& report) {
  json::Writer out;
  out.begin_object();
  out.member("schema", "gguf2mlx/1");
  out.member("input", report.input);
  out.member("output", report.output);
  out.member("architecture", report.architecture);
  out.member("model_type", report.model_type);
  out.member("dry_run", report.dry_run);
  out.key("files");
  out.begin_array();
  for (const OutputFile& file : report.files) {
    out.begin_object();
    out.member("name", file.path);
    out.member("bytes", file.bytes);
    out.member("tensors", file.tensors);
    out.end_object();
  }
  out.end_array();
  out.key("tensors");
  out.begin_array();
  for (const DirectoryTensorReport& tensor : report.tensors) write_form(out, tensor);
  out.end_array();
  write_texts(out, "left_out", report.left_out);
  write_texts(out, "assumed", report.assumed);
  write_remarks(out, report.remarks);
  out.key("totals");
  out.begin_object();
  out.member("tensors", static_cast<u64>(report.tensors.size()));
  out.member("inexact_tensors", report.inexact_tensors());
  out.member("unmeasured_tensors", report.unmeasured_tensors());
  out.member("bytes", report.bytes());
  write_totals(out, "forms", totals_by_form(report));
  out.end_object();
  out.end_object();
  out.end_line();
  return out.text();
}

namespace {

using AlikeForms = Alike<DirectoryTensorReport>;

std::vector<AlikeForms> alike_forms(const DirectoryReport& report, bool all) {
  return alike_tensors(
      report.tensors, all,
      [](const DirectoryTensorReport& tensor) {
        return std::tuple(std::string_view(tensor.source_type), std::string_view(tensor.form),
                          std::string_view(tensor.reason), tensor.exact.has_value());
      },
      [](const DirectoryTensorReport& tensor, AlikeForms& group) {
        group.rms = std::max(group.rms, tensor.rms.value_or(0));
      });
}

std::string form_error_text(const AlikeForms& group) {
  if (!group.first->exact) return ", not measured";
  if (*group.first->exact) return ", exact";
  return fmt::format(", relative RMS error {}{:.2g}", group.tensors == 1 ? "" : "up to ", group.rms);
}

}  // namespace

std::string directory_text(const DirectoryReport& report, bool all) {
  std::string text;
  const std::vector<AlikeForms> groups = alike_forms(report, all);
  const std::size_t width = name_width(groups);
  for (const AlikeForms& group : groups) {
    const DirectoryTensorReport& tensor = *group.first;
    if (group.tensors == 1) {
      text += fmt::format("{:<{}}  {}  {} from {}", escape(tensor.name), width, shape_text(tensor.shape), tensor.form,
                          tensor.source_type);
    } else {
      text += fmt::format("{} from {}: {}", counted(group.tensors, "tensor"), tensor.source_type, tensor.form);
    }
    text += form_error_text(group) + reason_text(tensor.reason) + (group.tensors == 1 ? "\n" : "; -v lists them\n");
  }
  for (const std::string& name : report.left_out) text += "left out: " + escape(name) + '\n';
  std::string assumed;
  for (const std::string& member : report.assumed) assumed += (assumed.empty() ? "" : ", ") + escape(member);
  if (!assumed.empty()) text += "not in the file, defaults taken: " + assumed + '\n';
  if (report.dry_run) {
    for (const OutputFile& file : report.files) {
      text += fmt::format("would write {}: {}, {}\n", escape(file.path), counted(file.bytes, "byte"),
                          counted(file.tensors, "tensor"));
    }
  }
  const ConversionCounts counts{report.tensors.size(), report.bytes(), report.inexact_tensors(),
                                report.unmeasured_tensors()};
  return text + counts_text(counts, totals_by_form(report), "; ");
}

}  // namespace modelutils
