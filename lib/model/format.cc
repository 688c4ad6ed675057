#include "model/format.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/byte_reader.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/bump/document.h"
#include "formats/bump/header.h"
#include "formats/gguf/split_set.h"
#include "formats/imatrix/importance.h"
#include "formats/pytorch/parse.h"
#include "formats/safetensors/index.h"
#include "formats/safetensors/parse.h"
#include "formats/safetensors/shard_set.h"
#include "io/file_kind.h"
#include "io/model_folder.h"
#include "io/remote_address.h"
#include "json/reader.h"
#include "model/download_record.h"

namespace modelutils {

std::string PeftAdapter::text() const {
  std::string text = is_mlx ? "mlx-lm adapter" : "PEFT adapter";
  if (!method.empty()) text += ", " + method;
  if (rank) text += fmt::format(", rank {}", *rank);
  if (alpha) text += fmt::format(", alpha {}", *alpha);
  if (!base_model.empty()) text += ", of " + base_model;
  return text;
}

std::optional<PeftAdapter> peft_adapter(const ModelFolder& folder) {
  if (is_present(folder.file("config.json"))) return std::nullopt;
  const auto document = json::load_if_present(folder, "adapter_config.json");
  if (!document || *document == nullptr) return std::nullopt;
  const json::Element root = (*document)->root;
  PeftAdapter adapter;
  adapter.method = json::string_member(root, "peft_type").value_or("");
  adapter.rank = json::u64_member(root, "r");
  adapter.alpha = json::number_member(root, "lora_alpha");
  adapter.base_model = json::string_member(root, "base_model_name_or_path").value_or("");
  const auto parameters = json::member(root, "lora_parameters");
  if (!json::member(root, "peft_type") && (parameters || json::member(root, "fine_tune_type"))) {
    adapter.is_mlx = true;
    adapter.method = json::string_member(root, "fine_tune_type").value_or("lora");
    adapter.rank = parameters ? json::u64_member(*parameters, "rank") : std::nullopt;
    adapter.base_model = json::string_member(root, "model").value_or("");
  }
  return adapter;
}

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
  if (path == "-") return input_error("io-not-regular", "is not a regular file", {}, {}, path);
  if (is_remote_folder(path)) {
    MU_TRY(remote_listing(path));
    probe.is_directory = true;
  } else if (os::is_folder(path)) {
    // Without these rights the directory would look empty, and thus like another kind of directory.
    if (!os::may_enter(path)) {
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
    const std::string file = gguf_in(probe.path), snapshot = snapshot_in(probe.path);
    message = !file.empty()
                  ? fmt::format("is a directory: name one of its files, such as '{}'", path_in(probe.path, file))
              : !snapshot.empty()
                  ? fmt::format("is a folder of a download cache: the model is in '{}'", path_in(probe.path, snapshot))
                  : "contains no recognised model";
  } else if (const FileKind kind = file_kind(probe.head); kind == FileKind::unknown) {
    message = "unrecognised format: not GGUF, safetensors, PyTorch, MLX or BUMPWGT";
  } else {
    message = fmt::format("is {}", file_kind_text(kind));
  }
  return Error{.code = "verify-unknown-format", .message = std::move(message), .file = probe.path};
}

namespace {

bool is_model_name(std::string_view name) {
  const std::string base = base_name_of(name);
  return base.ends_with(".gguf") && base.find("mmproj") == std::string::npos &&
         base.find("imatrix") == std::string::npos;
}

}  // namespace

std::string Repository::path_of(const RepositoryEntry& entry) const {
  return ModelFolder(path).file(entry.name);
}

Result<Repository> list_repository(const std::string& path) {
  MU_ASSIGN(const auto listing, remote_listing(path));
  MU_ASSIGN(const auto hub, hub_address(path));
  const std::string start = hub->path.empty() ? std::string() : hub->path + "/";
  Repository repository;
  repository.path = path;
  repository.commit = listing->commit;
  std::string last_set;
  for (const ListedRemote& file : listing->files) {
    if (!file.name.starts_with(start)) continue;
    RepositoryEntry entry{file.name.substr(start.size()), 1, file.size};
    if (!is_model_name(entry.name)) {
      repository.others.push_back(std::move(entry));
      continue;
    }
    const auto split = gguf::parse_split_name(entry.name);
    const std::string set = split ? gguf::split_path(split->prefix, 1, split->count) : std::string();
    if (split && set == last_set) {  // sorted by name, so files of a set are adjacent
      RepositoryEntry& first = repository.models.back();
      ++first.files;
      first.bytes += entry.bytes;
    } else {
      repository.models.push_back(std::move(entry));
    }
    last_set = set;
  }
  if (repository.models.empty() && repository.others.empty()) {
    return input_error("remote-missing", "there is no file in this folder", {}, {}, path);
  }
  return repository;
}

namespace {

using namespace std::string_view_literals;

// Sorted. Files such as tokenizer.model have the extension "model".
constexpr std::array other_extensions = {
    "bat"sv,   "bmp"sv, "c"sv,    "cc"sv,    "cpp"sv,  "css"sv,  "csv"sv,  "cu"sv,    "eot"sv,   "etag"sv,     "gif"sv,
    "go"sv,    "h"sv,   "hpp"sv,  "htm"sv,   "html"sv, "ico"sv,  "ini"sv,  "ipynb"sv, "java"sv,  "jinja"sv,    "jpeg"sv,
    "jpg"sv,   "js"sv,  "json"sv, "jsonl"sv, "lock"sv, "log"sv,  "lua"sv,  "m4a"sv,   "md"sv,    "metadata"sv, "mjs"sv,
    "model"sv, "mp3"sv, "mp4"sv,  "o"sv,     "ogg"sv,  "otf"sv,  "pdf"sv,  "php"sv,   "pl"sv,    "png"sv,      "ps1"sv,
    "py"sv,    "pyc"sv, "rb"sv,   "rs"sv,    "rst"sv,  "sh"sv,   "sql"sv,  "svg"sv,   "swift"sv, "tex"sv,      "toml"sv,
    "ts"sv,    "tsv"sv, "ttf"sv,  "txt"sv,   "wav"sv,  "webp"sv, "woff"sv, "xml"sv,   "yaml"sv,  "yml"sv};
static_assert(std::ranges::is_sorted(other_extensions));

constexpr std::array unfinished_extensions = {"aria2"sv,      "crdownload"sv, "download"sv, "downloadinprogress"sv,
                                              "incomplete"sv, "opdownload"sv, "part"sv,     "partial"sv,
                                              "tmp"sv};

// Returns the name's last extension, in lower case, without the dot.
std::string extension_of(std::string_view name) {
  const std::size_t point = name.rfind('.');
  if (point == name.npos) return {};
  std::string extension(name.substr(point + 1));
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return extension;
}

}  // namespace

NameClass class_of_name(std::string_view base_name) {
  const std::string extension = extension_of(base_name);
  if (extension == "gguf") return NameClass::gguf;
  if (extension == "edit-journal") return NameClass::other;  // begins like a GGUF, and is reported with its model
  if (extension == "safetensors") return NameClass::safetensors;
  if (extension == "bump") return NameClass::bump;
  if (safetensors::is_checkpoint_name(base_name)) return NameClass::checkpoint;
  if (base_name == "config.json") return NameClass::config;
  if (safetensors::is_index_name(base_name)) return NameClass::index;
  if (std::ranges::find(unfinished_extensions, extension) != unfinished_extensions.end()) return NameClass::unfinished;
  const bool is_other = std::ranges::binary_search(other_extensions, std::string_view(extension));
  return is_other ? NameClass::other : NameClass::unknown;
}

bool is_bookkeeping_folder(std::string_view base_name) {
  constexpr std::array names = {".git"sv, ".locks"sv, ".no_exist"sv, "__pycache__"sv};
  return std::ranges::find(names, base_name) != names.end();
}

}  // namespace modelutils
