#include "model/format.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/byte_reader.h"
#include "base/path.h"
#include "bump/bump5_header.h"
#include "bump/document.h"
#include "bump/parse.h"
#include "io/file_kind.h"
#include "io/remote_folder.h"
#include "model/peft_adapter.h"
#include "pytorch/parse.h"
#include "quantize/importance.h"
#include "safetensors/folder.h"
#include "safetensors/parse.h"
#include "safetensors/shard_set.h"

namespace modelutils {

namespace {

constexpr std::size_t head_size = 4096;

bool is_gguf(const PathProbe& probe) {
  return probe.head.starts_with("GGUF");
}

std::string folder_with_slash(const std::string& path) {
  return path.ends_with('/') ? path : path + '/';
}

bool is_model_directory(const PathProbe& probe) {
  return probe.is_directory && is_present(ModelFolder(probe.path).file("config.json"));
}

bool is_pytorch(const PathProbe& probe) {
  if (probe.is_directory) return safetensors::Folder(folder_with_slash(probe.path)).holds_checkpoints();
  return pytorch::is_checkpoint(probe.head, probe.path) ||
         safetensors::is_checkpoint_index_name(base_name_of(probe.path));
}

bool is_safetensors(const PathProbe& probe) {
  if (probe.is_directory) return safetensors::is_model_folder(probe.path);
  return safetensors::is_index(probe.path, probe.head) || safetensors::is_safetensors(probe.head, probe.path);
}

// True if the file begins with the magic (any version), or has the extension .bump and no other known kind.
bool is_bump(const PathProbe& probe) {
  if (probe.is_directory) return false;
  if (probe.head.starts_with("BUMPWGT")) return true;
  return probe.path.ends_with(".bump") && probe.file_size() >= bump::codes_offset &&
         file_kind(probe.head) == FileKind::unknown;
}

// True for a directory that C-Kernel-Engine can open: weights.bump with its companions, and no weights of another
// model.
bool is_bump_folder(const std::string& path) {
  const ModelFolder folder(path);
  return is_present(folder.file(bump5_weights_name)) && is_present(folder.file(bump5_manifest_name)) &&
         !safetensors::is_model_folder(path);
}

bool is_bump4(const PathProbe& probe) {
  return probe.head.starts_with(bump5::magic4);
}

bool is_bump5(const PathProbe& probe) {
  return probe.head.starts_with(bump5::magic);
}

bool is_imatrix(const PathProbe& probe) {
  return quantize::is_legacy_importance(probe.head);
}

constexpr std::array infos = {
    FormatInfo{Format::gguf, "gguf", "a GGUF model", ".gguf"},
    FormatInfo{Format::mlx, "mlx", "an MLX model", {}},
    FormatInfo{Format::pytorch, "pytorch", "a PyTorch checkpoint", {}},
    FormatInfo{Format::safetensors, "safetensors", "a safetensors model", ".safetensors"},
    FormatInfo{Format::bump4, "bumpwgt4", "a BUMPWGT4 model", ".bump"},
    FormatInfo{Format::bump5, "bumpwgt5", "a BUMPWGT5 model", ".bump"},
    FormatInfo{Format::bump, "bumpwgt3", "a BUMPWGT3 model", ".bump"},
    FormatInfo{Format::imatrix, "imatrix", "an importance matrix", {}},
};

// Recognisers in the order of `infos`; more specific formats come first.
constexpr std::array recognisers = {is_gguf,  is_model_directory, is_pytorch, is_safetensors,
                                    is_bump4, is_bump5,           is_bump,    is_imatrix};
static_assert(infos.size() == recognisers.size());

Result<FolderFile> open_file(const std::string& path) {
  // An index belongs to the model's folder, so check where links lead.
  if (path.ends_with(".json")) return open_in_folder(folder_of(path), base_name_of(path));
  MU_ASSIGN(auto file, RandomAccessFile::open(path));
  return FolderFile{std::move(file), false, false};
}

}  // namespace

std::span<const FormatInfo> all_formats() {
  return infos;
}

const FormatInfo& format_info(Format format) {
  return *std::ranges::find(infos, format, &FormatInfo::format);
}

Result<PathProbe> probe_path(const std::string& path, OutsideLinks links) {
  PathProbe probe;
  probe.path = path;
  probe.links = links;
  std::error_code ignored;
  if (path == "-") return input_error("io-not-regular", "is not a regular file", {}, {}, path);
  if (is_remote_folder(path)) {
    MU_TRY(remote_listing(path));
    probe.is_directory = true;
  } else if (std::filesystem::is_directory(path, ignored)) {
    // Without these rights the directory would look empty, and thus like another kind of directory.
    if (::faccessat(AT_FDCWD, path.c_str(), R_OK | X_OK, AT_EACCESS) != 0) {
      return input_error("io-open", "cannot be opened: " + errno_text(errno), {}, {}, path);
    }
    if (is_bump_folder(path)) return probe_path(path + "/" + std::string(bump5_weights_name), links);
    probe.is_directory = true;
  } else {
    MU_ASSIGN(probe.opened, open_file(path));
    probe.head.resize(std::min<u64>(head_size, probe.file_size()));
    MU_TRY(probe.opened.file->read_exact(0, std::as_writable_bytes(std::span(probe.head))));
  }
  for (std::size_t i = 0; i < infos.size() && !probe.format; ++i) {
    if (recognisers[i](probe)) probe.format = infos[i].format;
  }
  return probe;
}

Error unknown_format(const PathProbe& probe) {
  std::string message;
  if (const auto adapter = probe.is_directory ? peft_adapter(probe.path) : std::optional<PeftAdapter>()) {
    message = fmt::format("is a {}, without its weights", adapter->text());
  } else if (probe.is_directory) {
    message = "contains no recognised model";
  } else if (const FileKind kind = file_kind(probe.head); kind == FileKind::unknown) {
    message = "unrecognised format: not GGUF, safetensors, PyTorch, MLX or BUMPWGT";
  } else {
    message = fmt::format("is {}", file_kind_text(kind));
  }
  return Error{.code = "verify-unknown-format", .message = std::move(message), .file = probe.path};
}

}  // namespace modelutils
