// A model of any format, opened once: headers, config.json, modules, the files next to the weights. No tensor data.
// Rules, plans, views and comparisons work on what is opened here, and open nothing a second time.
#pragma once

#include <memory>
#include <optional>

#include "bump/bump5_parse.h"
#include "bump/document.h"
#include "gguf/split_set.h"
#include "model/format.h"
#include "model/safetensors_model.h"
#include "quantize/importance.h"

namespace modelutils {

struct BumpModel {
  std::shared_ptr<RandomAccessFile> file;
  bump::Document document;
};

struct Bump5Model {
  std::shared_ptr<RandomAccessFile> file;
  bump5::Document document;
};

/// One of the members is there, as `format` says.
struct Model {
  Format format;
  PathProbe probe;
  std::optional<gguf::SplitSet> gguf;
  std::optional<SafetensorsModel> safetensors;  ///< formats mlx and safetensors
  std::optional<BumpModel> bump;
  std::optional<Bump5Model> bump5;  ///< formats bump4 and bump5
  std::shared_ptr<const quantize::ImportanceMatrix> importance = {};

  const std::string& path() const { return probe.path; }
};

/// Opens what was recognised (probe.format is there). Plain safetensors get neither config nor modules, which belong to
/// a directory of format mlx. Errors: those of opening and parsing; what is wrong inside is in the documents' findings.
Result<Model> open_model(PathProbe probe);

}  // namespace modelutils
