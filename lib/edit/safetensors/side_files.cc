#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "edit/safetensors/st_edit.h"
#include "io/atomic_directory.h"
#include "io/copy_range.h"
#include "io/model_folder.h"
#include "io/remote_address.h"
#include "json/reader.h"

namespace modelutils::to_safetensors {

namespace {

constexpr u64 most_side_file = u64{1} << 30;
constexpr std::size_t most_side_files = 10'000;
// Endings of the files beside a checkpoint that are copied. Programs are not.
constexpr std::array copied_endings = {".json", ".jinja", ".md", ".model", ".txt", ".tiktoken"};
// Endings of weights in other formats, which an edit does not touch and does not copy.
constexpr std::array weights_endings = {".bin", ".pt",   ".pth",     ".ckpt", ".gguf",
                                        ".h5",  ".onnx", ".msgpack", ".npz",  ".safetensors"};

template <typename Endings>
bool ends_with_any(const Endings& endings, std::string_view name) {
  return std::ranges::any_of(endings, [&](std::string_view end) { return name.ends_with(end); });
}

// Opens a file beside the weights. Not with open_side_file(), which keeps every file open.
Result<std::shared_ptr<RandomAccessFile>> open_beside(const StPlan& plan, const std::string& name) {
  const ModelFolder& folder = plan.edited.model.safetensors->folder;
  MU_ASSIGN(FolderFile opened, open_in_folder(folder.path, name));
  if ((opened.is_outside || opened.is_below_linked_dir) && folder.links == OutsideLinks::refuse) {
    return input_error("io-link-outside",
                       "is a symbolic link that leads out of the model's directory, so it may not belong to the model; "
                       "use --follow-links to accept it",
                       {}, {}, folder.file(name));
  }
  if (const u64 size = opened.file->file_size(); size > most_side_file) {
    return input_error(
        "pt2st-input",
        fmt::format("has {} bytes, too many for a file next to the weights; --weights-only leaves it out", size), {},
        {}, folder.file(name));
  }
  return std::move(opened.file);
}

class SideFiles {
 public:
  explicit SideFiles(StPlan& plan) : plan_(plan), set_(plan.edited.set()) {}

  Status list() {
    if (Status read = read_modules(); !read && is_read_failure(read.error())) return read;
    MU_TRY(list_folder("", most_folder_levels));
    std::ranges::sort(left_);
    for (const auto& [name, why] : left_) {
      plan_.edited.report.remarks.note(Scope::model, "pt2st-left-out", why, at_file(name));
    }
    std::ranges::sort(plan_.copied);
    return {};
  }

 private:
  // `folder` is empty or ends in a slash.
  Status list_folder(const std::string& folder, int levels) {
    MU_ASSIGN(const DirectoryNames listed,
              DirectoryNames::read(set_.folder + folder,
                                   [](std::string_view name, EntryKind) { return !name.starts_with('.'); }));
    const bool is_top = folder.empty(), is_module = is_of_module(folder);
    for (std::size_t i = 0; i < listed.size() && !is_top && !is_module; ++i) {
      if (is_folder(folder, listed, i) || !ends_with_any(weights_endings, listed.name(i))) continue;
      leave(folder.substr(0, folder.size() - 1), "is a folder with weights of its own, which is not copied");
      return {};
    }
    for (std::size_t i = 0; i < listed.size(); ++i) {
      const std::string name = folder + std::string(listed.name(i));
      if (is_folder(folder, listed, i)) {
        MU_TRY(add_folder(name, listed.kind(i), levels));
      } else if (listed.kind(i) != EntryKind::other && !(is_top && is_of_weights(name))) {
        MU_TRY(add_file(name, is_module));
      }
    }
    return {};
  }

  Status add_folder(const std::string& name, EntryKind kind, int levels) {
    if (kind == EntryKind::link) {
      leave(name, "is a link to a folder, which is not copied");
      return {};
    }
    if (levels == 0) {
      leave(name, "is a folder that lies too deep and is not copied");
      return {};
    }
    return list_folder(name + "/", levels - 1);
  }

  Status add_file(const std::string& name, bool is_module) {
    if (set_.has_checkpoints && !ends_with_any(copied_endings, name) &&
        !(is_module && name.ends_with(".safetensors"))) {
      leave(name, "is not copied: only configuration, tokenizer and texts are");
      return {};
    }
    if (std::ranges::count(plan_.edited.dropped_files, name) > 0) return {};
    if (name.find('/') != name.npos && plan_.copied.size() >= most_side_files) {
      return input_error(
          "pt2st-input",
          fmt::format("holds more than {} files beside the weights; --weights-only leaves them out", most_side_files));
    }
    if (!is_address(set_.folder)) MU_TRY(open_beside(plan_, name).map([](const auto&) {}));
    plan_.copied.push_back(name);
    return {};
  }

  void leave(std::string name, const char* why) { left_.emplace_back(std::move(name), why); }

  bool is_folder(const std::string& folder, const DirectoryNames& listed, std::size_t i) const {
    if (listed.kind(i) != EntryKind::link) return listed.kind(i) == EntryKind::directory;
    return os::is_folder(set_.folder + folder + std::string(listed.name(i)));
  }

  // Reads the folders that modules.json names. Sentence Transformers keeps the parts that follow the model there, with
  // their weights.
  Status read_modules() {
    MU_ASSIGN(const auto document, json::load_if_present(plan_.edited.model.safetensors->folder, "modules.json"));
    json::Array list;
    constexpr std::size_t most_modules = 64;
    if (document == nullptr || !document->root.get(list) || list.size() > most_modules) return {};
    for (const json::Element module : list) {
      const std::string path(json::string_member(module, "path").value_or(""));
      if (!path.empty()) modules_.push_back(path + "/");
    }
    return {};
  }

  bool is_of_module(std::string_view folder) const {
    return std::ranges::any_of(modules_, [&](const std::string& module) { return folder.starts_with(module); });
  }

  bool is_of_weights(const std::string& name) const {
    if (name.find(".index") != name.npos && name.ends_with(".json")) return true;
    return set_.has_checkpoints ? name.ends_with(".bin") : ends_with_any(weights_endings, name);
  }

  StPlan& plan_;
  const safetensors::ShardSet& set_;
  std::vector<std::string> modules_;                       // folders, with a slash at the end
  std::vector<std::pair<std::string, std::string>> left_;  // name and reason
};

}  // namespace

Status list_side_files(StPlan& plan) {
  return SideFiles(plan).list();
}

Status copy_side_file(const StPlan& plan, const std::string& name, AtomicOutput& to) {
  MU_ASSIGN(const auto from, open_beside(plan, name));
  return copy_range(*from, 0, from->file_size(), to);
}

}  // namespace modelutils::to_safetensors
