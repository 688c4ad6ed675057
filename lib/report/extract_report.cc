#include "report/extract_report.h"

#include <fmt/core.h>

#include "base/counted.h"
#include "base/escape.h"
#include "json/writer.h"
#include "report/remarks_json.h"

namespace modelutils {

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
    text += fmt::format("{}  {} × {}  error {:.3g} %  energy kept {:.5g} %\n", escape(tensor.module), tensor.columns,
                        tensor.rows, 100 * tensor.error, 100 * tensor.energy);
  }
  return text + fmt::format("{} of rank {}, {} unchanged; energy kept {:.5g} % of all changes\n",
                            counted(report.tensors.size(), "pair"), report.rank, report.unchanged, 100 * report.energy);
}

}  // namespace modelutils
