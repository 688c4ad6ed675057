#include <fmt/core.h>

#include <algorithm>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "edit/safetensors/st_edit.h"
#include "formats/safetensors/shard_set.h"
#include "io/atomic_output.h"
#include "io/check_written.h"
#include "io/remote_address.h"

namespace modelutils::to_safetensors {

namespace {

bool is_about_index(const Finding& finding) {
  return finding.code.starts_with("st-index-") || finding.code == "st-shard-open" ||
         finding.code == "st-shard-lacks-tensor" || finding.code == "st-shard-unlisted";
}

// True if the directory's index agrees with its files.
bool is_correct(const safetensors::ShardSet& set) {
  return set.index && std::ranges::none_of(set.findings, is_about_index);
}

Status check_files(const safetensors::ShardSet& set) {
  const Findings found = set.all_findings().findings();
  if (const Finding* broken = first_container_error(found)) return tl::make_unexpected(with_path(*broken, set.path));
  for (const safetensors::TensorRef ref : set.tensors) {
    const safetensors::Tensor& tensor = set.tensor(ref);
    if (set.file(ref).document.holds(tensor) && tensor.expected_bytes() == tensor.bytes()) continue;
    return input_error("st-truncated", "the tensor's data is not in the file; download it again",
                       at_tensor(tensor.name), {}, set.file(ref).path);
  }
  return {};
}

}  // namespace

Result<std::string> fix_index(const std::string& directory, bool dry_run) {
  if (is_address(directory) || !os::is_folder(directory)) {
    return usage_error("--fix-index needs a directory on this machine");
  }
  MU_ASSIGN(const safetensors::ShardSet given, safetensors::open_set(directory));
  if (is_correct(given)) return std::string("the index is correct");
  MU_ASSIGN(const safetensors::ShardSet set,
            safetensors::open_set(directory, OutsideLinks::follow, {}, /*ignore_index=*/true));
  MU_TRY(check_files(set));
  std::vector<std::pair<std::string, std::string>> entries;
  u64 total = 0;
  for (const safetensors::TensorRef ref : set.tensors) {
    if (set.file(ref).is_apart) continue;
    entries.emplace_back(set.tensor(ref).name, set.file(ref).base_name);
    total += set.tensor(ref).bytes();
  }
  const bool is_alone = set.files.size() == 1 && set.files.front().base_name == "model.safetensors";
  if (is_alone && given.index_path.empty()) {
    return std::string("model.safetensors needs no index: every program finds it");
  }
  const std::string path = given.index_path.empty() ? set.folder + "model.safetensors.index.json" : given.index_path;
  const std::string done = fmt::format("{} {}: {} in {}",
                                       dry_run                    ? "would write"
                                       : given.index_path.empty() ? "created"
                                                                  : "rebuilt",
                                       base_name_of(path), counted(entries.size(), "tensor"),
                                       counted(set.files.size() - static_cast<std::size_t>(std::ranges::count_if(
                                                                      set.files, &safetensors::ShardFile::is_apart)),
                                               "file"));
  OutputOptions options;
  options.force = true;
  options.binary = false;
  if (dry_run) return done;
  MU_ASSIGN(AtomicOutput output, AtomicOutput::edit(path, options));
  const std::string text = index_text(std::move(entries), total);
  MU_TRY(output.append(std::as_bytes(std::span(text))));
  MU_TRY(check_written(output, text, text.size()));
  MU_TRY(output.commit());
  return done;
}

}  // namespace modelutils::to_safetensors
