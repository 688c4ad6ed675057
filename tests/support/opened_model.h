// Opens a path like the tools do.
#pragma once

#include <string>

#include "model/model.h"

namespace modelutils::test {

/// Fails with "unknown" if the format is not recognised.
inline Result<Model> opened(const std::string& path, OutsideLinks links = OutsideLinks::warn) {
  MU_ASSIGN(PathProbe probe, probe_path(path, links));
  if (!probe.format) return input_error("unknown", "is of no known format", {}, {}, path);
  return open_model(std::move(probe));
}

}  // namespace modelutils::test
