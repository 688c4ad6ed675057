#include "report/tool_reports.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/escape.h"
#include "base/text.h"
#include "json/writer.h"
#include "report/transfer_report.h"
#include "tensor/types.h"
#include "tensor/value_sums.h"

namespace modelutils {

std::string checkpoint_json(const to_safetensors::StReport& report) {
  json::Writer out;
  {
    const auto in_object = out.object();
    const bool is_edit = report.kind == ReportKind::st_edit;
    out.member("schema", is_edit ? "st-edit/1" : "pt2st/1");
    out.member("input", report.input);
    out.member("output", report.output);
    out.member("dry_run", report.dry_run);
    {
      const auto in_files = out.array("files");
      for (const OutputFile& file : report.files) {
        const auto in_item = out.object();
        out.member("name", file.path);
        out.member("bytes", file.bytes);
        out.member("tensors", file.tensors);
      }
    }
    {
      const auto in_tensors = out.array("tensors");
      for (const TensorReport& tensor : report.tensors) {
        const auto in_item = out.object();
        out.member("name", tensor.name);
        if (is_edit) {
          out.member("source", tensor.source);
          out.member("source_dtype", tensor.source_form);
        }
        out.member("dtype", tensor.form);
        out.values("shape", tensor.shape);
        out.member("bytes", tensor.bytes);
        out.member("file", tensor.file);
        if (!is_edit) continue;
        out.member_or_null("exact", tensor.exact);
        out.member("relative_rms_error", tensor.rms);
        out.member("max_abs_error", tensor.max_abs);
        if (!tensor.reason.empty()) out.member("reason", tensor.reason);
      }
    }
    if (is_edit) out.values("changes", report.changes);
    {
      const auto in_shared = out.array("shared");
      for (const auto& [name, kept] : report.shared) {
        const auto in_item = out.object();
        out.member("name", name);
        out.member("kept", kept);
      }
    }
    out.member("wrapper", report.wrapper);
    {
      const auto in_left_out = out.array("left_out");
      for (const LeftOut& tensor : report.left_out) out.string(tensor.name);
    }
    write_remarks(out, report.remarks);
  }
  out.end_line();
  return out.text();
}

namespace {

std::string tensor_line(const TensorReport& tensor) {
  std::string text = escape(tensor.name);
  if (tensor.source != tensor.name) text += fmt::format(" ← {}", escape(tensor.source));
  text += fmt::format("  {}  ", shape_text(tensor.shape));
  if (tensor.source_form != tensor.form) text += fmt::format("{} → ", tensor.source_form);
  text += tensor.form;
  if (tensor.rms && tensor.exact == false) text += fmt::format("  RMS error {}", error_percent(*tensor.rms));
  if (!tensor.reason.empty()) text += fmt::format("  {}", escape(tensor.reason));
  return text + "\n";
}

// "12 of 20 tensors rounded, RMS error at most 0.17 % (NAME)", or "bit for bit".
std::string error_line(const TransferReport& report) {
  u64 changed = 0, exact = 0;
  const TensorReport* worst = nullptr;
  for (const TensorReport& tensor : report.tensors) {
    if (tensor.source_form == tensor.form && tensor.exact == true && tensor.reason.empty()) continue;
    ++changed;
    if (tensor.exact == true) ++exact;
    if (tensor.rms && (worst == nullptr || *tensor.rms > *worst->rms)) worst = &tensor;
  }
  if (changed == 0) return "bit for bit";
  if (report.dry_run) return fmt::format("{} of them with new values", changed);
  if (exact == changed) return fmt::format("{} of them with new values, all exact", changed);
  std::string text = fmt::format("{} of them rounded", changed - exact);
  if (worst != nullptr) {
    text += fmt::format(", RMS error at most {} ({})", error_percent(*worst->rms), escape(worst->name));
  }
  return text;
}

}  // namespace

std::string checkpoint_text(const to_safetensors::StReport& report, bool all) {
  std::string text;
  u64 bytes = 0;
  for (const TensorReport& tensor : report.tensors) {
    bytes += tensor.bytes;
    if (all) text += tensor_line(tensor);
  }
  for (const std::string& change : report.changes) text += escape(change) + "\n";
  for (const auto& [name, kept] : report.shared) {
    text += fmt::format("{} is {}: written once\n", escape(name), escape(kept));
  }
  if (!report.wrapper.empty()) text += fmt::format("'{}.' is removed from the names\n", report.wrapper);
  if (!report.left_out.empty()) {
    text += fmt::format("left out: {} next to the weights, the first is {}\n",
                        counted(report.left_out.size(), "tensor"), escape(report.left_out.front().name));
  }
  if (report.dry_run) {
    for (const OutputFile& file : report.files)
      text += fmt::format("would write {}: {}\n", escape(file.path), byte_text(file.bytes));
  }
  return text +
         fmt::format("{}, {}, {}\n", counted(report.tensors.size(), "tensor"), byte_text(bytes), error_line(report));
}

std::string extract_json(const ExtractReport& report) {
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", "extract-lora/1");
    out.member("base", report.base);
    out.member("finetune", report.finetune);
    out.member("output", report.output);
    out.member("rank", report.rank);
    out.member("bytes", report.bytes);
    out.member("unchanged", report.unchanged);
    out.member("energy", report.energy);
    {
      const auto in_tensors = out.array("tensors");
      for (const ExtractedTensor& tensor : report.tensors) {
        const auto in_item = out.object();
        out.member("module", tensor.module);
        out.member("out", tensor.rows);
        out.member("in", tensor.columns);
        out.member("error", tensor.error);
        out.member("energy", tensor.energy);
      }
    }
    write_remarks(out, report.remarks);
  }
  out.end_line();
  return out.text();
}

std::string extract_text(const ExtractReport& report) {
  std::string text;
  for (const ExtractedTensor& tensor : report.tensors) {
    text += fmt::format("{}  {} × {}  error {}  energy kept {:.5g} %\n", escape(tensor.module), tensor.columns,
                        tensor.rows, error_percent(tensor.error), 100 * tensor.energy);
  }
  return text + fmt::format("{} of rank {}, {} unchanged; energy kept {:.5g} % of all changes\n",
                            counted(report.tensors.size(), "pair"), report.rank, report.unchanged, 100 * report.energy);
}

namespace {

using requantize::QuantizedTensor;
using requantize::QuantizeReport;
using requantize::TensorError;

double bits_per_weight(u64 bytes, u64 elements) {
  return elements == 0 ? 0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(elements);
}

// Writes {TYPE: {"tensors", "bytes"}}.
void write_type_totals(json::Writer& out, const QuantizeReport& report) {
  std::map<std::string_view, std::pair<u64, u64>> totals;
  for (const QuantizedTensor& tensor : report.tensors) {
    auto& [tensors, bytes] = totals[type_name(tensor.type)];
    ++tensors;
    bytes += tensor.bytes;
  }
  const auto in_types = out.object("types");
  for (const auto& [name, total] : totals) {
    const auto in_object = out.object(name);
    out.member("tensors", total.first);
    out.member("bytes", total.second);
  }
}

void write_tensor(json::Writer& out, const QuantizedTensor& tensor) {
  const auto in_object = out.object();
  out.member("name", tensor.name);
  out.member("source", tensor.source);
  out.member("type", type_name(tensor.type));
  out.values("shape", tensor.ne);
  out.member("bytes", tensor.bytes);
  const TypeInfo& info = type_info(tensor.type);
  out.member("bits", 8.0 * info.block_bytes / info.block_elements);
  out.member("copied", tensor.copied);
  out.member("importance", tensor.weighted);
  if (tensor.measured) {
    const TensorError& error = tensor.error;
    out.member("rms", error.plain.rms());
    out.member("cosine", error.plain.cosine());
    out.member("max_abs", error.plain.max_abs);
    if (tensor.weighted) {
      out.member("weighted_rms", error.weighted.rms());
    }
  }
  if (!tensor.reason.empty()) out.member("reason", tensor.reason);
}

// The errors of all tensors converted to one type.
struct OfType {
  u64 tensors = 0;
  u64 bytes = 0;
  u64 copied = 0;
  bool measured = false;
  TensorError error;
};

std::string error_words(const QuantizedTensor& tensor) {
  if (tensor.copied) return ", copied";
  if (!tensor.measured) return "";
  std::string text =
      fmt::format(", relative RMS error {}, cosine {:.6f}, largest error {:.3g}",
                  error_percent(tensor.error.plain.rms()), tensor.error.plain.cosine(), tensor.error.plain.max_abs);
  if (tensor.weighted) text += fmt::format(", with importance {}", error_percent(tensor.error.weighted.rms()));
  return text;
}

std::string tensor_line(const QuantizedTensor& tensor, std::size_t width) {
  return fmt::format("{:<{}}  {}  {} → {}{}{}\n", escape(tensor.name), width, shape_text(tensor.ne), tensor.source,
                     type_name(tensor.type), error_words(tensor),
                     tensor.reason.empty() ? "" : " (" + tensor.reason + ")");
}

std::string types_text(const QuantizeReport& report) {
  std::map<std::string_view, OfType> types;
  for (const QuantizedTensor& tensor : report.tensors) {
    OfType& of_type = types[type_name(tensor.type)];
    ++of_type.tensors;
    of_type.bytes += tensor.bytes;
    of_type.copied += tensor.copied ? 1 : 0;
    if (!tensor.measured || tensor.copied) continue;
    of_type.measured = true;
    of_type.error.add(tensor.error);
  }
  std::string text;
  for (const auto& [name, of_type] : types) {
    text += fmt::format("{:<8} {}, {}", name, counted(of_type.tensors, "tensor"), byte_text(of_type.bytes));
    if (of_type.copied == of_type.tensors) {
      text += ", copied";
    } else if (of_type.measured) {
      text += fmt::format(", relative RMS error {}", error_percent(of_type.error.plain.rms()));
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::string quantize_json(const QuantizeReport& report) {
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", "gguf-quantize/1");
    out.member("input", report.input);
    out.member("output", report.output);
    out.member("architecture", report.architecture);
    out.member("type", report.mix);
    out.text_or_null("imatrix", report.importance);
    out.member("dry_run", report.dry_run);
    out.member("file_bytes", report.file_bytes);
    out.text_or_null("sample", report.sample);
    {
      const auto in_tensors = out.array("tensors");
      for (const QuantizedTensor& tensor : report.tensors) write_tensor(out, tensor);
    }
    {
      const auto in_worst = out.array("worst");
      for (const std::size_t i : report.worst_first()) out.string(report.tensors[i].name);
    }
    out.values("recipe", report.recipe());
    write_remarks(out, report.remarks);
    const auto in_totals = out.object("totals");
    out.member("tensors", static_cast<u64>(report.tensors.size()));
    out.member("bytes", report.bytes());
    out.member("source_bytes", report.source_bytes());
    out.member("bits_per_weight", bits_per_weight(report.bytes(), report.elements()));
    write_type_totals(out, report);
  }
  out.end_line();
  return out.text() + (report.projector ? transfer_json(*report.projector) : std::string());
}

std::string quantize_text(const QuantizeReport& report, bool all) {
  constexpr std::size_t shown = 5;
  std::string text;
  std::size_t width = 4;
  for (const QuantizedTensor& tensor : report.tensors) width = std::max(width, tensor.name.size());
  if (all) {
    for (const QuantizedTensor& tensor : report.tensors) text += tensor_line(tensor, width);
  } else if (const std::vector<std::size_t> worst = report.worst_first(); worst.size() > shown) {
    text += "largest errors:\n";
    for (std::size_t i = 0; i < shown; ++i) text += "  " + tensor_line(report.tensors[worst[i]], width);
  }
  text += types_text(report);
  const auto undivided = std::ranges::find(report.tensors, true, &QuantizedTensor::undivided);
  if (undivided != report.tensors.end()) {
    const auto count = static_cast<u64>(std::ranges::count(report.tensors, true, &QuantizedTensor::undivided));
    text += fmt::format("{} F16, because no block divides {} rows: {}{}\n",
                        count == 1 ? "1 tensor is" : fmt::format("{} tensors are", count), verb(count, "its", "their"),
                        escape(undivided->name), count == 1 ? "" : " the first");
  }
  if (!report.sample.empty()) text += "types chosen by " + report.sample + '\n';
  const std::string would = report.dry_run ? "would write " : "";
  const std::string source =
      report.source_file_bytes > 0 ? fmt::format(" ({} before)", byte_text(report.source_file_bytes)) : "";
  text += fmt::format("{}{}: {}{}, tensors {} ({} before), {:.2f} bits per weight, {}\n", would,
                      report.output.empty() ? "a file" : escape(report.output), byte_text(report.file_bytes), source,
                      byte_text(report.bytes()), byte_text(report.source_tensor_bytes),
                      bits_per_weight(report.bytes(), report.elements()), report.mix);
  if (report.projector) {
    const OutputFile& file = report.projector->files.front();
    text += transfer_text(*report.projector, all);
    text += fmt::format("{}{}: {}, the projector\n", would, escape(file.path), byte_text(file.bytes));
  }
  return text;
}

}  // namespace modelutils
