#include "report/conversion_report.h"

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

using convert::ConversionReport;
using convert::OutputFile;
using convert::TensorReport;

struct TypeSize {
  u64 tensors = 0;
  u64 bytes = 0;
};

std::map<std::string_view, TypeSize> totals_by_type(const ConversionReport& report) {
  std::map<std::string_view, TypeSize> totals;
  for (const TensorReport& tensor : report.tensors) {
    TypeSize& total = totals[type_name(tensor.type)];
    ++total.tensors;
    total.bytes += tensor.bytes;
  }
  return totals;
}

void write_tensor(json::Writer& out, const TensorReport& tensor) {
  out.begin_object();
  out.member("name", tensor.name);
  out.member("source", tensor.source);
  out.member("form", tensor.form);
  out.member("type", type_name(tensor.type));
  write_shape(out, tensor.ne);
  out.member("bytes", tensor.bytes);
  out.key("exact");
  if (tensor.exact) {
    out.boolean(*tensor.exact);
  } else {
    out.null();
  }
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
  out.key("left_out");
  out.begin_array();
  for (const std::string& name : report.left_out) out.string(name);
  out.end_array();
  write_remarks(out, report.remarks);
  out.key("totals");
  out.begin_object();
  out.member("tensors", static_cast<u64>(report.tensors.size()));
  out.member("inexact_tensors", report.inexact_tensors());
  if (report.dry_run) out.member("unmeasured_tensors", report.unmeasured_tensors());
  out.member("bytes", report.bytes());
  out.key("types");
  out.begin_object();
  for (const auto& [type, total] : totals_by_type(report)) {
    out.key(type);
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
struct AlikeTensors {
  const TensorReport* first;
  u64 tensors = 0;
  double rms = 0;  // the largest
  double max_abs = 0;
};

std::string error_text(const AlikeTensors& group) {
  if (!group.first->exact) return ", not measured";
  if (*group.first->exact) return ", exact";
  if (!group.first->measured) return ", not exact";
  const std::string_view most = group.tensors == 1 ? "" : "up to ";
  return fmt::format(", relative RMS error {}{:.2g}, largest {}{:.2g}", most, group.rms, most, group.max_abs);
}

std::string reason_text(const TensorReport& tensor) {
  return tensor.reason.empty() ? std::string() : " (" + escape(tensor.reason) + ")";
}

// The tensors of the text, each its own group, or those alike together in the order of the first of each.
std::vector<AlikeTensors> alike_tensors(const ConversionReport& report, bool all) {
  std::vector<AlikeTensors> groups;
  std::map<std::tuple<TensorType, std::string_view, std::string_view, bool, bool>, std::size_t> places;
  for (const TensorReport& tensor : report.tensors) {
    if (!all && tensor.exact == true) continue;
    const auto key = std::tuple(tensor.type, std::string_view(tensor.form), std::string_view(tensor.reason),
                                tensor.exact.has_value(), tensor.measured);
    const auto [place, is_new] = places.try_emplace(key, groups.size());
    if (all || is_new) {
      place->second = groups.size();
      groups.push_back({&tensor});
    }
    AlikeTensors& group = groups[place->second];
    ++group.tensors;
    group.rms = std::max(group.rms, tensor.error.relative_rms());
    group.max_abs = std::max(group.max_abs, tensor.error.max_abs);
  }
  return groups;
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
  const std::vector<AlikeTensors> groups = alike_tensors(report, all);
  std::size_t width = 4;
  for (const AlikeTensors& group : groups) {
    if (group.tensors == 1) width = std::max(width, group.first->name.size());
  }
  for (const AlikeTensors& group : groups) {
    const TensorReport& tensor = *group.first;
    if (group.tensors == 1) {
      text += fmt::format("{:<{}}  {:>6}  {}  from {}", escape(tensor.name), width, type_name(tensor.type),
                          shape_text(tensor.ne), tensor.form);
    } else {
      text += fmt::format("{} as {} from {}", counted(group.tensors, "tensor"), type_name(tensor.type), tensor.form);
    }
    text += error_text(group) + reason_text(tensor) + (group.tensors == 1 ? "\n" : "; -v lists them\n");
  }
  for (const std::string& name : report.left_out) text += "left out: " + escape(name) + '\n';
  if (report.files.size() > 1) text += files_text(report);
  std::string mix;
  for (const auto& [type, total] : totals_by_type(report)) {
    mix += fmt::format("{}{} {}", mix.empty() ? "" : ", ", total.tensors, type);
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
