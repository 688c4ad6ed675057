#include "report/transfer_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/escape.h"
#include "base/text.h"
#include "json/writer.h"
#include "tensor/types.h"
#include "tensor/value_sums.h"

namespace modelutils {

void write_remarks(json::Writer& out, const FindingLog& remarks) {
  const auto in_remarks = out.array("remarks");
  for (const Finding& remark : remarks.findings()) {
    const auto in_object = out.object();
    out.member("severity", severity_name(remark.severity));
    out.member("code", remark.code);
    out.member("where", remark.where);
    out.member("message", remark.message);
  }
}

namespace {

// Number and bytes of the tensors with one form.
struct KindTotal {
  u64 tensors = 0;
  u64 bytes = 0;
};
using KindTotals = std::map<std::string_view, KindTotal>;

KindTotals totals_by_form(const TransferReport& report) {
  KindTotals totals;
  for (const TensorReport& tensor : report.tensors) {
    KindTotal& total = totals[tensor.form];
    ++total.tensors;
    total.bytes += tensor.bytes;
  }
  return totals;
}

void write_tensor(json::Writer& out, const TensorReport& tensor, bool to_gguf) {
  const auto in_object = out.object();
  out.member("name", tensor.name);
  out.member("source", tensor.source);
  out.member(to_gguf ? "form" : "source_type", tensor.source_form);
  out.member(to_gguf ? "type" : "form", tensor.form);
  out.values("shape", tensor.shape);
  out.member("bytes", tensor.bytes);
  out.member_or_null("exact", tensor.exact);
  if (!to_gguf) {
    out.member_or_null("rms", tensor.rms);
  }
  if (!tensor.reason.empty()) out.member("reason", tensor.reason);
  if (to_gguf && tensor.rms) {
    out.member("relative_rms_error", *tensor.rms);
    out.member("max_abs_error", *tensor.max_abs);
  }
}

void write_files(json::Writer& out, const TransferReport& report, bool to_gguf) {
  const auto in_files = out.array("files");
  for (const OutputFile& file : report.files) {
    const auto in_object = out.object();
    out.text_or_null(to_gguf ? "path" : "name", file.path);
    out.member("bytes", file.bytes);
    out.member("tensors", file.tensors);
  }
}

void write_totals(json::Writer& out, const TransferReport& report, bool to_gguf) {
  const auto in_totals = out.object("totals");
  out.member("tensors", static_cast<u64>(report.tensors.size()));
  out.member("inexact_tensors", report.inexact_tensors());
  if (!to_gguf || report.dry_run) out.member("unmeasured_tensors", report.unmeasured_tensors());
  out.member("bytes", report.bytes());
  const auto in_object = out.object(to_gguf ? "types" : "forms");
  for (const auto& [form, total] : totals_by_form(report)) {
    const auto in_item = out.object(form);
    out.member("tensors", total.tensors);
    out.member("bytes", total.bytes);
  }
}

}  // namespace

std::string transfer_json(const TransferReport& report) {
  const bool to_gguf = report.kind == ReportKind::mlx2gguf;
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", to_gguf ? "mlx2gguf/1" : "gguf2mlx/1");
    out.member("input", report.input);
    if (!to_gguf) out.member("output", report.output);
    out.member("architecture", report.architecture);
    out.member(to_gguf ? "name" : "model_type", to_gguf ? report.name : report.model_type);
    out.member("dry_run", report.dry_run);
    write_files(out, report, to_gguf);
    {
      const auto in_tensors = out.array("tensors");
      for (const TensorReport& tensor : report.tensors) write_tensor(out, tensor, to_gguf);
    }
    std::vector<std::string> left_out;
    left_out.reserve(report.left_out.size());
    for (const LeftOut& tensor : report.left_out) left_out.push_back(left_out_text(tensor));
    out.values("left_out", left_out);
    if (!to_gguf) out.values("assumed", report.assumed);
    write_remarks(out, report.remarks);
    write_totals(out, report, to_gguf);
  }
  out.end_line();
  return out.text();
}

namespace {

// Tensors with the same treatment.
struct AlikeTensors {
  const TensorReport* first;
  u64 tensors = 0;
  double rms = 0;  // the largest RMS error
  double max_abs = 0;
};

// Groups the tensors to print: each on its own (`all`), or the inexact ones by form and reason, in the order of the
// first of each.
std::vector<AlikeTensors> alike(const TransferReport& report, bool all) {
  std::vector<AlikeTensors> groups;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, bool, bool>, std::size_t> places;
  for (const TensorReport& tensor : report.tensors) {
    if (!all && tensor.exact == true) continue;
    const auto [place, is_new] = places.try_emplace(
        std::tuple(std::string_view(tensor.source_form), std::string_view(tensor.form), std::string_view(tensor.reason),
                   tensor.exact.has_value(), tensor.rms.has_value()),
        groups.size());
    if (all || is_new) {
      place->second = groups.size();
      groups.push_back({&tensor});
    }
    AlikeTensors& group = groups[place->second];
    ++group.tensors;
    group.rms = std::max(group.rms, tensor.rms.value_or(0));
    group.max_abs = std::max(group.max_abs, tensor.max_abs.value_or(0));
  }
  return groups;
}

// Returns the width for the names of single tensors.
std::size_t name_width(const std::vector<AlikeTensors>& groups) {
  std::size_t width = 4;
  for (const AlikeTensors& group : groups) {
    if (group.tensors == 1) width = std::max(width, group.first->name.size());
  }
  return width;
}

std::string error_text(const AlikeTensors& group) {
  const TensorReport& tensor = *group.first;
  if (!tensor.exact) return ", not measured";
  if (*tensor.exact) return ", exact";
  if (!tensor.rms) return ", not exact";
  const std::string_view most = group.tensors == 1 ? "" : "up to ";
  std::string text = fmt::format(", relative RMS error {}{}", most, error_percent(group.rms));
  if (tensor.max_abs) text += fmt::format(", largest {}{:.2g}", most, group.max_abs);
  return text;
}

std::string group_text(const AlikeTensors& group, std::size_t width, bool to_gguf) {
  const TensorReport& tensor = *group.first;
  std::string text;
  if (group.tensors == 1) {
    text = fmt::format("{:<{}}  ", escape(tensor.name), width);
    const std::string shape = shape_text(tensor.shape);
    text += to_gguf ? fmt::format("{:>6}  {}  from {}", tensor.form, shape, tensor.source_form)
                    : fmt::format("{}  {} from {}", shape, tensor.form, tensor.source_form);
  } else {
    text = counted(group.tensors, "tensor");
    text += to_gguf ? fmt::format(" as {} from {}", tensor.form, tensor.source_form)
                    : fmt::format(" from {}: {}", tensor.source_form, tensor.form);
  }
  text += error_text(group);
  if (!tensor.reason.empty()) text += " (" + escape(tensor.reason) + ")";
  return text + (group.tensors == 1 ? "\n" : "; -v lists them\n");
}

// Lists omitted tensors, grouped by kind ("k_scale") and reason unless all are to be listed.
std::string left_out_lines(const TransferReport& report, bool all) {
  std::string text;
  std::map<std::pair<LeftOutReason, std::string_view>, u64> rest;
  const auto kind = [](const LeftOut& tensor) {
    const std::string_view name = tensor.name;
    return std::pair(tensor.reason, name.substr(name.rfind('.') + 1));
  };
  for (const LeftOut& tensor : report.left_out) ++rest[kind(tensor)];
  for (const LeftOut& tensor : report.left_out) {
    // A remark counts those of each other model in the file.
    if (tensor.reason == LeftOutReason::beside_model && !all) continue;
    u64& alike = rest[kind(tensor)];
    if (all || alike == 1) {
      text += "left out: " + escape(left_out_text(tensor)) + '\n';
    } else if (alike > 1) {
      text += fmt::format("left out: {}, {} the first ({}); -v lists them\n", counted(alike, "tensor"),
                          escape(tensor.name), reason_text(tensor.reason));
      alike = 0;
    }
  }
  return text;
}

// Returns for example "62 tensors (30 BF16, 32 F32), 973 kB, all exact\n".
std::string counts_text(const TransferReport& report, std::string_view separator) {
  std::string mix;
  for (const auto& [form, total] : totals_by_form(report)) {
    mix += fmt::format("{}{} {}", mix.empty() ? "" : separator, total.tensors, form);
  }
  // Unmeasured tensors do not count as inexact.
  std::string exactness;
  if (const u64 inexact = report.inexact_tensors(); inexact > 0) exactness = fmt::format("{} not exact", inexact);
  if (const u64 unmeasured = report.unmeasured_tensors(); unmeasured > 0) {
    exactness += fmt::format("{}{} not measured", exactness.empty() ? "" : ", ", unmeasured);
  }
  return fmt::format("{} ({}), {}, {}\n", counted(report.tensors.size(), "tensor"), mix, byte_text(report.bytes()),
                     exactness.empty() ? "all exact" : exactness);
}

}  // namespace

std::string transfer_text(const TransferReport& report, bool all) {
  const bool to_gguf = report.kind == ReportKind::mlx2gguf;
  std::string text;
  const std::vector<AlikeTensors> groups = alike(report, all);
  const std::size_t width = name_width(groups);
  for (const AlikeTensors& group : groups) text += group_text(group, width, to_gguf);
  text += left_out_lines(report, all);
  std::string assumed;
  for (const std::string& member : report.assumed) assumed += (assumed.empty() ? "" : ", ") + escape(member);
  if (!assumed.empty()) text += "not in the file, defaults used: " + assumed + '\n';
  if (to_gguf ? report.files.size() > 1 : report.dry_run) {
    for (const OutputFile& file : report.files) {
      text += fmt::format("{}{}: {}, {}\n", report.dry_run ? "would write " : "", escape(file.path),
                          byte_text(file.bytes), counted(file.tensors, "tensor"));
    }
  }
  return text + counts_text(report, to_gguf ? ", " : "; ");
}

}  // namespace modelutils
