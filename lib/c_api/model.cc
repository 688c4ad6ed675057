#include "c_api/handle.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"

#define MU_TEXT_(x) #x
#define MU_TEXT(x) MU_TEXT_(x)
static_assert(std::string_view(MU_TEXT(MU_VERSION_MAJOR) "." MU_TEXT(MU_VERSION_MINOR) "." MU_TEXT(MU_VERSION_PATCH)) ==
                  MODELUTILS_VERSION,
              "the version in modelutils.h differs from the project's");

using namespace modelutils;
using namespace modelutils::c_api;

mu_model::mu_model(Model from) : opened(std::move(from)), architecture(opened.architecture()) {
  if (opened.gguf) {
    metadata = opened.gguf->files.front().document.keys;
  } else {
    for (const safetensors::MetadataEntry& entry : opened.safetensors->set.metadata()) {
      own_metadata.push_back({std::string(entry.key), entry.offset, entry.offset, std::string(entry.value)});
    }
    metadata = own_metadata;
  }
  keys.reserve(metadata.size());
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (keys.insert(metadata[i].key).is_new) entries.push_back(i);
  }
  mappings.resize(opened.catalog().files.size());
  for (const Tensor& tensor : opened.catalog().tensors) {
    names.begin.push_back(names.text.size());
    names.text += tensor.name;
    names.text += '\0';
  }
}

namespace {

// Applies the rules by which the dumpers reject a file; otherwise tensors of unknown size would just be missing.
Status check_container(const Model& model) {
  const Findings findings =
      model.gguf ? gguf_container_findings(*model.gguf) : safetensors_container_findings(model.safetensors->set);
  const Finding* broken = first_container_error(findings);
  if (broken == nullptr) return {};
  return tl::make_unexpected(with_path(*broken, model.path()));
}

template <typename T>
T null_model(T instead) {
  guarded([]() -> Status { return null_argument("model"); });
  return instead;
}

}  // namespace

const char* mu_version(void) {
  return MODELUTILS_VERSION;
}

uint32_t mu_version_number(void) {
  return MU_VERSION_MAJOR * 1000000 + MU_VERSION_MINOR * 1000 + MU_VERSION_PATCH;
}

mu_status mu_open(const char* path, mu_model** model) {
  return guarded([&]() -> Status {
    if (model == nullptr) return null_argument("model");
    *model = nullptr;
    if (path == nullptr) return null_argument("path");
    // "-" is a file name here, but means standard input to the readers.
    MU_ASSIGN(Model opened, open_sound_model(std::string_view(path) == "-" ? "./-" : path));
    MU_TRY(check_container(opened));
    *model = std::make_unique<mu_model>(std::move(opened)).release();
    return {};
  });
}

void mu_close(mu_model* model) {
  delete model;
}

const char* mu_format(const mu_model* model) {
  return model == nullptr ? null_model<const char*>(nullptr) : format_info(model->opened.format).name.data();
}

const char* mu_architecture(const mu_model* model) {
  return model == nullptr ? null_model<const char*>(nullptr) : model->architecture.c_str();
}

int32_t mu_is_big_endian(const mu_model* model) {
  if (model == nullptr) return null_model<int32_t>(0);
  return model->opened.catalog().big_endian ? 1 : 0;
}

uint64_t mu_parameter_count(const mu_model* model) {
  if (model == nullptr) return null_model<u64>(0);
  const Model& opened = model->opened;
  u64 parameters = 0;
  for (const Tensor& tensor : opened.catalog().tensors) {
    if (!opened.is_part(tensor)) parameters = checked_add(parameters, opened.elements_of(tensor)).value_or(parameters);
  }
  return parameters;
}

uint64_t mu_file_count(const mu_model* model) {
  return model == nullptr ? null_model<u64>(0) : model->opened.catalog().files.size();
}

uint64_t mu_tensor_count(const mu_model* model) {
  return model == nullptr ? null_model<u64>(0) : model->opened.catalog().tensors.size();
}

uint64_t mu_metadata_count(const mu_model* model) {
  return model == nullptr ? null_model<u64>(0) : model->metadata.size();
}

const char* mu_file_path(const mu_model* model, uint64_t file) {
  const char* path = nullptr;
  guarded([&]() -> Status {
    if (model == nullptr) return null_argument("model");
    const std::vector<CatalogFile>& files = model->opened.catalog().files;
    if (file >= files.size()) return input_error("api-range", "the model has no file with that number");
    path = files[file].path.c_str();
    return {};
  });
  return path;
}
