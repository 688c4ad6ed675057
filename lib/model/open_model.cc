#include "model/open_model.h"

#include <filesystem>

#include "gguf/parse.h"
#include "io/random_access_file.h"
#include "model/safetensors_model.h"

namespace modelutils {

namespace {

Result<ModelView> only_if_sound(ModelView view) {
  if (const Finding* broken = first_container_error(view.findings())) {
    Error error = to_error(*broken, view.path());
    error.message = broken->message;
    return tl::make_unexpected(std::move(error));
  }
  return view;
}

}  // namespace

Result<ModelView> open_model(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    MU_ASSIGN(const std::shared_ptr<RandomAccessFile> file, RandomAccessFile::open(path));
    if (gguf::is_gguf(*file)) {
      MU_ASSIGN(gguf::SplitSet set, gguf::open_set(path));
      return only_if_sound(ModelView::of_gguf(path, std::move(set)));
    }
  }
  MU_ASSIGN(SafetensorsModel model, open_safetensors_model(path));
  if (model.config_error && model.set.is_directory) return tl::make_unexpected(std::move(*model.config_error));
  return only_if_sound(ModelView::of_safetensors(path, std::move(model.set), std::move(model.config)));
}

}  // namespace modelutils
