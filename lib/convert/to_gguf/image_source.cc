#include "convert/to_gguf/image_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "formats/pytorch/parse.h"
#include "formats/safetensors/index.h"
#include "formats/safetensors/parse.h"
#include "io/file_kind.h"
#include "io/remote_address.h"
#include "json/reader.h"
#include "model/format.h"

namespace modelutils::to_gguf {

namespace {

constexpr u64 most_settings = u64{16} << 20;

// Names of the files with a component's tensors, the best first: a folder often has the same tensors in several types.
constexpr std::array<std::string_view, 4> weight_files = {
    "diffusion_pytorch_model.safetensors.index.json", "diffusion_pytorch_model.safetensors",
    "diffusion_pytorch_model.bin.index.json", "diffusion_pytorch_model.bin"};
// Components that are diffusion models, in model_index.json.
constexpr std::array<std::string_view, 3> diffusion_components = {"transformer", "unet", "transformer_2"};
constexpr std::array<std::string_view, 6> checkpoint_endings = {".sft", ".bin", ".pt", ".pth", ".ckpt", ".pkl"};

// Returns nullopt for the config.json of a language model, and for an unreadable one, which the reader of language
// models reports.
std::optional<std::string> class_in(const ModelFolder& folder) {
  const auto document = json::load_if_present(folder, "config.json", most_settings, json::Numbers::python);
  if (!document || *document == nullptr) return std::nullopt;
  const auto name = json::string_member((*document)->root, "_class_name");
  return name ? std::optional(std::string(*name)) : std::nullopt;
}

// A folder with the tensors of one component; nullopt if its config.json is not diffusers'.
Result<std::optional<ImageSource>> component(const std::string& path, OutsideLinks links) {
  const ModelFolder folder(path, links);
  const std::optional<std::string> name = class_in(folder);
  if (!name) return std::nullopt;
  ImageSource source{.path = path, .class_name = *name, .config = folder.file("config.json"), .components = {}};
  for (const std::string_view file : weight_files) {
    if (!is_present(folder.file(file))) continue;
    source.path = folder.file(file);
    break;
  }
  return source;
}

Result<std::optional<ImageSource>> pipeline(const std::string& path, const json::Document& index, OutsideLinks links) {
  std::vector<std::string> names;
  for (const std::string_view name : diffusion_components) {
    // ["diffusers", "FluxTransformer2DModel"], or [null, null] for a component that the pipeline lacks.
    const auto entry = json::array_member(index.root, name);
    if (!entry) continue;
    bool is_there = false;
    for (const json::Element each : *entry) is_there = is_there || !each.is_null();
    if (is_there) names.emplace_back(name);
  }
  if (names.empty()) {
    return input_error("convert-image-model",
                       "is a pipeline without a diffusion model that is converted: it has neither a transformer nor a "
                       "unet",
                       {}, {}, ModelFolder(path).file("model_index.json"));
  }
  MU_ASSIGN(auto source, component(ModelFolder(path).file(names.front()), links));
  if (!source) {
    return input_error(
        "convert-image-model",
        fmt::format("is a pipeline whose '{}' has no config.json with a _class_name; download the folder",
                    names.front()),
        {}, {}, path);
  }
  source->components.assign(names.begin() + 1, names.end());
  return source;
}

// Lets the class of diffusers decide. The tensors must agree.
Status take_class(const ImageSource& source, const arch::ImageModel* stated, arch::ImageLayout& layout) {
  const std::vector<arch::KnownImageClass> classes = arch::find_image_classes(source.class_name);
  const auto refuse = [&](std::string message) {
    return input_error("convert-image-model", std::move(message), "_class_name", {}, source.config);
  };
  if (classes.empty()) {
    if (stated != nullptr) return {};
    return refuse(fmt::format("'{}' is not a diffusion model that is known (--arch NAME takes the rules of one of {})",
                              source.class_name, arch::image_model_names()));
  }
  // A class with names of its own needs no further sign: every tensor must have a place in it.
  const bool is_enough = stated == nullptr && !layout && !classes.front().names->names.empty();
  if (is_enough) layout.model = classes.front().model;
  const auto own = std::ranges::find_if(
      classes, [&](const arch::KnownImageClass& each) { return each.model == (stated ? stated : layout.model); });
  if (own == classes.end()) {
    return refuse(fmt::format("is '{}', but {}", source.class_name,
                              stated != nullptr ? "--arch names another architecture"
                              : layout          ? fmt::format("the tensors are those of {}", layout.model->title)
                                                : std::string("the tensors are not those of this class")));
  }
  layout.model = own->model;
  layout.names = own->names->names.empty() ? nullptr : own->names;
  return {};
}

}  // namespace

namespace {

ImageSource source_of_file(const std::string& path, std::shared_ptr<ByteSource> opened = {}) {
  return {.path = path, .class_name = {}, .config = {}, .components = {}, .opened = std::move(opened)};
}

Result<std::optional<ImageSource>> source_of_stream(const std::string& path, std::shared_ptr<ByteSource> opened) {
  const std::string head = read_head(*opened);
  const bool is_checkpoint = pytorch::is_checkpoint(head, opened->name());
  if (is_checkpoint && opened->is_pipe()) {
    return input_error("io-pipe",
                       "delivers a PyTorch checkpoint, which has its table of contents at the end; save it to a file "
                       "first",
                       {}, {}, path);
  }
  if (!is_checkpoint && !safetensors::is_safetensors(head, opened->name())) return std::nullopt;
  return source_of_file(path, std::move(opened));
}

// True unless the name of a file shows that it is not an image model. Addresses often end in a number or a query.
bool may_be_image(const std::string& path) {
  if (path.ends_with(".gguf")) return false;
  return is_address(path) || base_name_of(path).find('.') == std::string::npos ||
         std::ranges::any_of(checkpoint_endings, [&](std::string_view end) { return path.ends_with(end); });
}

}  // namespace

Result<std::optional<ImageSource>> find_image_source(const std::string& path, OutsideLinks links,
                                                     std::shared_ptr<ByteSource> opened) {
  if (opened != nullptr) return source_of_stream(path, std::move(opened));
  const std::string base = base_name_of(path);
  if (is_address(path) && !is_remote_folder(path) &&
      (path.ends_with('/') || base == "model_index.json" || base == "config.json")) {
    return input_error(
        "convert-not-directory",
        fmt::format("is the address of a folder, whose files only the Hub lists (hf://ORG/REPO); name the "
                    "file or the index of an image model, such as {}",
                    weight_files.front()),
        {}, {}, path);
  }
  if (is_remote_folder(path) || os::is_folder(path)) {
    const ModelFolder folder(path, links);
    if (is_present(folder.file("model_index.json"))) {
      MU_ASSIGN(const auto index, json::load(folder.file("model_index.json"), most_settings));
      return pipeline(path, *index, links);
    }
    if (!is_present(folder.file("config.json"))) {
      return ImageSource{.path = path, .class_name = {}, .config = {}, .components = {}, .is_certain = false};
    }
    // Language models have these files. Their config.json is read once, when the model is opened.
    for (const std::string_view file : {"model.safetensors", "model.safetensors.index.json"}) {
      if (is_present(folder.file(file))) return std::nullopt;
    }
    return component(path, links);
  }
  if (safetensors::is_index_name(base_name_of(path))) {
    const ModelFolder folder(folder_of(path), links);
    if (!is_present(folder.file("config.json"))) return source_of_file(path);
    const std::optional<std::string> name = class_in(folder);
    if (!name) return std::nullopt;
    return ImageSource{.path = path, .class_name = *name, .config = folder.file("config.json"), .components = {}};
  }
  if (path.ends_with(".safetensors")) return source_of_file(path);
  if (!may_be_image(path)) return std::nullopt;
  const auto probe = probe_path(path, links);  // other programs use these endings, too
  if (!probe || (probe->format != Format::safetensors && probe->format != Format::pytorch)) return std::nullopt;
  return source_of_file(path, probe->opened.file);
}

Result<std::string> without_pipeline(const std::string& path, OutsideLinks links) {
  const bool is_folder = is_remote_folder(path) || os::is_folder(path);
  if (!is_folder || !is_present(ModelFolder(path).file("model_index.json"))) return path;
  MU_ASSIGN(const auto source, find_image_source(path, links));
  std::string folder = source ? folder_of(source->config) : path;
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  return folder;
}

void warn_of_other_rules(const arch::ImageModel* recognised, const arch::ImageModel& stated, FindingLog& remarks) {
  if (recognised == nullptr || recognised == &stated) return;
  remarks.warning(
      Scope::model, "convert-image-model",
      fmt::format("is recognised as {}, but --arch chooses the rules of {}: other tensors stay unquantised, and "
                  "general.architecture becomes '{}'; leave out --arch for the rules of '{}'",
                  recognised->title, stated.title, stated.name, recognised->name));
}

Result<arch::ImageLayout> recognise_image(const ImageSource& source, std::span<const std::string_view> names,
                                          std::string_view architecture) {
  const auto fail = [&](std::string message) {
    return input_error("convert-image-model", std::move(message), {}, {}, source.path);
  };
  const arch::ImageModel* stated = nullptr;
  if (!architecture.empty()) {
    stated = arch::find_image_model(architecture);
    if (stated == nullptr) {
      return usage_error(fmt::format("--arch takes one of {}, not '{}'", arch::image_model_names(), architecture));
    }
  }
  arch::ImageLayout layout = stated != nullptr ? arch::image_layout(names, *stated) : arch::image_layout(names);
  const auto refusal = arch::not_an_image_model(names, layout, stated != nullptr);
  if (!source.class_name.empty()) {
    MU_TRY(take_class(source, stated, layout));
    if (refusal && layout) return fail(*refusal);
    return layout;
  }
  if (!layout && !source.is_certain) return layout;
  if (refusal) return fail(*refusal);
  if (!layout) {
    return fail(
        fmt::format("is not recognised as an image or video model, whose architecture would be one of {} "
                    "(--arch NAME takes its rules); a language model is converted from its directory",
                    arch::image_model_names()));
  }
  return layout;
}

}  // namespace modelutils::to_gguf
