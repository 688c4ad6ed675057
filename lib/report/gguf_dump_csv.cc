#include <fmt/format.h>

#include "base/escape.h"
#include "model/gguf_summary.h"
#include "report/gguf_selection.h"

namespace modelutils {

namespace {

std::string number_or_nothing(std::optional<u64> value) {
  return value ? std::to_string(*value) : std::string{};
}

}  // namespace

Status dump_gguf_csv(const gguf::SplitSet& set, const GgufDumpOptions& options, bool header, TextOutput& out) {
  const bool with_file = set.is_split() || options.several;
  if (header) {
    out << "index,name,type,shape,parameters,bytes,offset,data_offset" << (with_file ? ",file\n" : "\n");
  }
  for (const SelectedTensor& selected : select_tensors(set, options)) {
    const gguf::TensorInfo& tensor = *selected.tensor;
    out << fmt::format("{},{},{},{},{},{},{},{}", selected.index, csv_field(tensor.name), gguf_type_text(tensor),
                       fmt::join(tensor.ne, "x"), number_or_nothing(tensor.elements()),
                       number_or_nothing(tensor.bytes()), tensor.info_offset,
                       number_or_nothing(data_offset_of(selected)));
    if (with_file) out << "," << csv_field(told_file(selected, options));
    out << "\n";
  }
  return {};
}

}  // namespace modelutils
