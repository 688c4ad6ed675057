#include "verify/formats.h"

#include <array>
#include <filesystem>

#include "io/random_access_file.h"
#include "verify/bump_rules.h"
#include "verify/gguf_rules.h"
#include "verify/mlx_rules.h"
#include "verify/parity_bump.h"
#include "verify/parity_mlx.h"
#include "verify/safetensors_rules.h"

namespace modelutils {

namespace {

constexpr std::size_t head_size = 4096;

// A format is one line: its name in reports, how it is recognised, its rules.
const std::array format_table = {
    FormatRules{"gguf", recognises_gguf, check_gguf},
    FormatRules{"mlx", recognises_model_directory, check_model_directory},
    FormatRules{"safetensors", recognises_safetensors, check_safetensors},
    FormatRules{"bumpwgt3", is_bump, check_bump, check_bump_manifest},
};

// What --against can compare: format of the converted model, format of its source, how.
const std::array parity_table = {
    ParityRules{"bumpwgt3", "gguf", compare_bump_with_gguf},
    ParityRules{"gguf", "mlx", compare_with_mlx},
};

}  // namespace

std::span<const FormatRules> all_formats() {
  return format_table;
}
std::span<const ParityRules> all_parities() {
  return parity_table;
}

bool PathProbe::has_file(std::string_view name) const {
  std::error_code ignored;
  return is_directory && std::filesystem::is_regular_file(std::filesystem::path(path) / name, ignored);
}

Result<PathProbe> probe_path(const std::string& path) {
  PathProbe probe;
  probe.path = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    probe.is_directory = true;
    return probe;
  }
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  probe.file_size = file->file_size();
  probe.head.resize(std::min<u64>(head_size, probe.file_size));
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(probe.head))));
  return probe;
}

const FormatRules* format_of(const PathProbe& probe) {
  for (const FormatRules& format : all_formats()) {
    if (format.recognises(probe)) return &format;
  }
  return nullptr;
}

}  // namespace modelutils
