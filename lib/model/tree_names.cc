#include "model/tree_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "safetensors/folder.h"

namespace modelutils {

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
