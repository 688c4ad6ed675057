#include "verify/formats.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

// A format is one line: its names in reports and messages, how it is recognised, its rules.
const std::array format_table = {
    FormatRules{"gguf", "a GGUF model", recognises_gguf, check_gguf, nullptr, ".gguf"},
    FormatRules{"mlx", "an MLX model", recognises_model_directory, check_model_directory},
    FormatRules{"safetensors", "a safetensors model", recognises_safetensors, check_safetensors, nullptr,
                ".safetensors"},
    FormatRules{"bumpwgt3", "a BUMPWGT3 model", is_bump, check_bump, check_bump_manifest, ".bump", true},
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

bool PathProbe::has(std::string_view name) const {
  return is_directory && is_present(ModelFolder(path).file(name));
}

Result<PathProbe> probe_path(const std::string& path, OutsideLinks links) {
  PathProbe probe;
  probe.path = path;
  probe.links = links;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    // Without these nothing in it would be seen, and it would look like a directory of something else.
    if (::faccessat(AT_FDCWD, path.c_str(), R_OK | X_OK, AT_EACCESS) != 0) {
      return input_error("io-open", "cannot be opened: " + errno_text(errno), {}, {}, path);
    }
    probe.is_directory = true;
    return probe;
  }
  constexpr std::string_view advice = "verify reads out of order and needs a file: save the input to a file first";
  if (path == "-") return input_error("io-not-regular", fmt::format("is not a regular file; {}", advice), {}, {}, path);
  auto opened = RandomAccessFile::open(path);
  if (!opened && opened.error().code == "io-not-regular") {
    opened.error().message += fmt::format("; {}", advice);
  }
  MU_ASSIGN(const auto file, std::move(opened));
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
