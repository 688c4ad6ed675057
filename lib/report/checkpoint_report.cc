#include "report/checkpoint_report.h"

#include <fmt/core.h>

#include "base/counted.h"
#include "base/escape.h"
#include "json/writer.h"
#include "report/remarks_json.h"
#include "tensor/shape.h"

namespace modelutils {

std::string checkpoint_json(const TransferReport& report) {
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", "pt2st/1");
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
        out.member("dtype", tensor.form);
        out.values("shape", tensor.shape);
        out.member("bytes", tensor.bytes);
        out.member("file", tensor.file);
      }
    }
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

std::string checkpoint_text(const TransferReport& report, bool all) {
  std::string text;
  u64 bytes = 0;
  for (const TensorReport& tensor : report.tensors) {
    bytes += tensor.bytes;
    if (all) text += fmt::format("{}  {}  {}\n", escape(tensor.name), shape_text(tensor.shape), tensor.form);
  }
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
      text += fmt::format("would write {}: {}\n", escape(file.path), counted(file.bytes, "byte"));
  }
  return text + fmt::format("{}, {} bytes, bit for bit\n", counted(report.tensors.size(), "tensor"), bytes);
}

}  // namespace modelutils
