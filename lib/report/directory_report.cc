#include "report/directory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/counted.h"
#include "base/escape.h"
#include "report/json_value.h"
#include "report/remarks_json.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

using convert::DirectoryReport;
using convert::DirectoryTensorReport;
using convert::OutputFile;

struct FormSize {
  u64 tensors = 0;
  u64 bytes = 0;
};

std::map<std::string_view, FormSize> totals_by_form(const DirectoryReport& report) {
  std::map<std::string_view, FormSize> totals;
  for (const DirectoryTensorReport& tensor : report.tensors) {
    FormSize& total = totals[tensor.form];
    ++total.tensors;
    total.bytes += tensor.bytes;
  }
  return totals;
}

void write_form(json::Writer& out, const DirectoryTensorReport& tensor) {
  out.begin_object();
  out.member("name", tensor.name);
  out.member("source", tensor.source);
  out.member("source_type", tensor.source_type);
  out.member("form", tensor.form);
  write_shape(out, tensor.shape);
  out.member("bytes", tensor.bytes);
  out.key("exact");
  if (tensor.exact) {
    out.boolean(*tensor.exact);
  } else {
    out.null();
  }
  out.key("rms");
  if (tensor.rms) {
    out.number(*tensor.rms);
  } else {
    out.null();
  }
  if (!tensor.reason.empty()) out.member("reason", tensor.reason);
  out.end_object();
}

void write_text_list(json::Writer& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name);
  out.begin_array();
  for (const std::string& text : texts) out.string(text);
  out.end_array();
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
  write_text_list(out, "left_out", report.left_out);
  write_text_list(out, "assumed", report.assumed);
  write_remarks(out, report.remarks);
  out.key("totals");
  out.begin_object();
  out.member("tensors", static_cast<u64>(report.tensors.size()));
  out.member("inexact_tensors", report.inexact_tensors());
  out.member("unmeasured_tensors", report.unmeasured_tensors());
  out.member("bytes", report.bytes());
  out.key("forms");
  out.begin_object();
  for (const auto& [form, total] : totals_by_form(report)) {
    out.key(form);
    out.begin_object();
    out.member("tensors", total.tensors);
    out.member("bytes", total.bytes);
    out.end_object();
  }
  out.end_object();
  out.end_object();
  out.end_object();
  out.end_line();
  return out.text();
}

namespace {

// Tensors that were treated alike.
struct AlikeForms {
  const DirectoryTensorReport* first;
  u64 tensors = 0;
  double rms = 0;  // the largest
};

std::vector<AlikeForms> alike_forms(const DirectoryReport& report, bool all) {
  std::vector<AlikeForms> groups;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, bool>, std::size_t> places;
  for (const DirectoryTensorReport& tensor : report.tensors) {
    if (!all && tensor.exact == true) continue;
    const auto key = std::tuple(std::string_view(tensor.source_type), std::string_view(tensor.form),
                                std::string_view(tensor.reason), tensor.exact.has_value());
    const auto [place, is_new] = places.try_emplace(key, groups.size());
    if (all || is_new) {
      place->second = groups.size();
      groups.push_back({&tensor});
    }
    AlikeForms& group = groups[place->second];
    ++group.tensors;
    group.rms = std::max(group.rms, tensor.rms.value_or(0));
  }
  return groups;
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
  std::size_t width = 4;
  for (const AlikeForms& group : groups) {
    if (group.tensors == 1) width = std::max(width, group.first->name.size());
  }
  for (const AlikeForms& group : groups) {
    const DirectoryTensorReport& tensor = *group.first;
    if (group.tensors == 1) {
      text += fmt::format("{:<{}}  {}  {} from {}", escape(tensor.name), width, shape_text(tensor.shape), tensor.form,
                          tensor.source_type);
    } else {
      text += fmt::format("{} from {}: {}", counted(group.tensors, "tensor"), tensor.source_type, tensor.form);
    }
    const std::string reason = tensor.reason.empty() ? std::string() : " (" + escape(tensor.reason) + ")";
    text += form_error_text(group) + reason + (group.tensors == 1 ? "\n" : "; -v lists them\n");
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
  std::string mix;
  for (const auto& [form, total] : totals_by_form(report)) {
    mix += fmt::format("{}{} {}", mix.empty() ? "" : "; ", total.tensors, form);
  }
  std::string exactness;
  if (const u64 inexact = report.inexact_tensors(); inexact > 0) exactness = fmt::format("{} not exact", inexact);
  if (const u64 unmeasured = report.unmeasured_tensors(); unmeasured > 0) {
    exactness += fmt::format("{}{} not measured", exactness.empty() ? "" : ", ", unmeasured);
  }
  text += fmt::format("{} ({}), {}, {}\n", counted(report.tensors.size(), "tensor"), mix,
                      counted(report.bytes(), "byte"), exactness.empty() ? "all exact" : exactness);
  return text;
}

}  // namespace modelutils
