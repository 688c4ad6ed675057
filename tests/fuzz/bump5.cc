// Any manifest and any map (separated by a NUL) next to sound BUMPWGT5 weights, or any weights next to nothing -> every
// rule. A map without findings lies inside the payload; what can be read lies inside the file.
#include <cstdlib>
#include <string>

#include "base/types.h"
#include "formats/bump/bump5_layout.h"
#include "model/model.h"
#include "rules/formats.h"
#include "support/reference_bump5.h"
#include "support/temp_dir.h"

using namespace modelutils;

namespace {

const test::ReferenceBump5& tiny() {
  static const test::ReferenceBump5 files = [] {
    test::LlamaShape shape;
    shape.architecture = "qwen3";
    shape.layers = 1;
    test::Bump5Traits traits;
    traits.vocabulary = test::tiny_tokens("gpt2");
    return test::reference_bump5(test::bump5_model(shape, traits), traits, "fuzz");
  }();
  return files;
}

void check_map(const std::string& map, const FindingLog& findings, const bump5::Document& document) {
  for (const Finding& finding : findings) {
    if (finding.code == "bump-map") return;
  }
  bump5::visit_map(map, [&](u64, const std::optional<bump5::MapLine>& line) {
    if (!line || line->runtime_offset != line->file_offset || line->file_offset < document.payload_begin() ||
        !fits(line->file_offset, line->size, document.payload_end)) {
      std::abort();
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  static const test::TempDir folder;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const bool is_weights = input.starts_with("BUMPWGT");
  const std::size_t end = input.find('\0');
  const std::string map = is_weights || end == std::string::npos ? std::string() : input.substr(end + 1);
  const std::string path = folder.write("weights.bump", is_weights ? input : tiny().weights);
  folder.write("weights_manifest.json", is_weights ? tiny().manifest : input.substr(0, end));
  folder.write("weights_manifest.map", is_weights ? tiny().map : map);
  auto probe = probe_path(path);
  if (!probe || !probe->format || probe->format == Format::bump) return 0;
  const auto model = open_model(std::move(*probe));
  if (!model) std::abort();
  const auto checked = rules_of(model->format).check(*model, 1);
  if (!checked) std::abort();
  const u64 file_size = model->bump5->document.file_size;
  for (const Tensor& tensor : checked->catalog.tensors) {
    if (!tensor.is_readable()) continue;
    if (!fits(tensor.offset, tensor.bytes, file_size)) std::abort();
  }
  if (!is_weights) check_map(map, checked->findings, model->bump5->document);
  return 0;
}
