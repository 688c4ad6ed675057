#include "model/model.h"

#include "base/log.h"
#include "bump/parse.h"

namespace modelutils {

Result<Model> open_model(PathProbe probe) {
  Model model{*probe.format, std::move(probe), {}, {}, {}, {}, {}};
  const PathProbe& found = model.probe;
  log_info("{} is {}", found.path, format_info(model.format).noun);
  switch (model.format) {
    case Format::gguf: {
      MU_ASSIGN(model.gguf, gguf::open_set(found.path, found.links, found.opened.file));
      break;
    }
    case Format::mlx: {
      MU_ASSIGN(model.safetensors,
                open_safetensors_model(found.path, ModulesWanted::if_quantized, found.links, {}, found.ignore_index));
      break;
    }
    case Format::pytorch:
    case Format::safetensors: {
      if (found.is_shard_group) {
        MU_ASSIGN(model.safetensors, open_shard_group(found.path, found.links));
        break;
      }
      MU_ASSIGN(model.safetensors,
                open_safetensors_model(found.path, ModulesWanted::none, found.links, found.opened, found.ignore_index));
      break;
    }
    case Format::bump: {
      MU_ASSIGN(bump::Document document, bump::parse_ignoring_magic(*found.opened.file));
      model.bump = BumpModel{found.opened.file, std::move(document)};
      break;
    }
    case Format::bump4:
    case Format::bump5: {
      MU_ASSIGN(bump5::Document document, bump5::parse(*found.opened.file));
      model.bump5 = Bump5Model{found.opened.file, std::move(document)};
      break;
    }
    case Format::imatrix: {
      MU_ASSIGN(model.importance, quantize::ImportanceMatrix::read(found.opened.file, found.path));
      break;
    }
  }
  return model;
}

}  // namespace modelutils
