#include "to_bump/outputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "io/atomic_output.h"
#include "io/output_place.h"
#include "model/format.h"

namespace modelutils {

namespace {

namespace fs = std::filesystem;

constexpr u64 largest = ~u32{0};

// True if `path` is or will be a regular file. Devices and FIFOs are written in place and have no files next to them.
bool is_regular_output(const std::string& path) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  return path != "-" && (!fs::exists(status) || fs::is_regular_file(status));
}

// Refuses an option that this version does not support.
Status check_version(const GgufToBumpOptions& options) {
  const BumpRequest& request = options.request;
  if (request.version == 3) return {};
  if (request.version != 5) return usage_error("--bump-version must be 3 or 5");
  if (request.split_halves) return usage_error("--repack needs --bump-version 3");
  if (request.align_head != 1) return usage_error("--align-head needs --bump-version 3: BUMPWGT5 does not pad heads");
  if (request.numbering == bump::Numbering::original) {
    return usage_error("--dtype-codes original needs --bump-version 3: BUMPWGT5 uses the renumbered codes");
  }
  if (options.no_config) {
    return usage_error("--no-config needs --bump-version 3: C-Kernel-Engine needs all four files");
  }
  return {};
}

Status check_numbers(const BumpRequest& request) {
  if (request.context && (*request.context == 0 || *request.context > largest)) {
    return usage_error(fmt::format("--context must be 1 to {}", largest));
  }
  if (request.align_head == 0 || request.align_head > largest) {
    return usage_error(fmt::format("--align-head must be 1 to {}", largest));
  }
  return {};
}

std::string next_to(const std::string& path, std::string_view name) {
  return (fs::path(path).parent_path() / name).string();
}

// weights_manifest.json -> weights_manifest.map
std::string map_path_of(const std::string& manifest) {
  fs::path path(manifest);
  return path.extension() == ".json" ? path.replace_extension(".map").string() : manifest + ".map";
}

// Replaces a folder by its weights.bump.
void name_weights(BumpOutputPaths& paths) {
  std::error_code ignored;
  const std::string& output = *paths.output;
  const bool is_folder = fs::is_directory(output, ignored);
  if (!is_folder && !output.ends_with('/')) return;
  if (!is_folder) paths.new_folder = output;
  paths.output = (fs::path(output) / bump5_weights_name).string();
}

Status complete_v5(BumpOutputPaths& paths) {
  if (paths.output) name_weights(paths);
  if (paths.output && is_regular_output(*paths.output)) {
    if (!paths.config) paths.config = next_to(*paths.output, "config.json");
    if (!paths.manifest) paths.manifest = next_to(*paths.output, bump5_manifest_name);
  } else if (paths.output && (!paths.config || !paths.manifest)) {
    return usage_error("if the weights do not go to a file, --config FILE and --manifest FILE are needed");
  }
  if (!paths.manifest) return {};
  if (!is_regular_output(*paths.manifest)) {
    return usage_error("--manifest must be a file: C-Kernel-Engine's map is written next to it");
  }
  paths.map = map_path_of(*paths.manifest);
  return {};
}

Status check_names(const BumpOutputPaths& paths) {
  std::vector<std::string> names;
  for (const auto& output : {paths.output, paths.config, paths.manifest, paths.map}) {
    if (!output) continue;
    std::string name = is_standard_output(*output) ? "-" : output_place(*output);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      if (name == "-") return usage_error("only one output can go to standard output");
      if (is_regular_output(*output)) return usage_error(fmt::format("two outputs have the same name: {}", *output));
    }
    names.push_back(std::move(name));
  }
  return {};
}

}  // namespace

Result<BumpOutputPaths> choose_bump_outputs(const GgufToBumpOptions& options) {
  if (!options.output && !options.dry_run) return usage_error("-o WEIGHTS.bump is missing");
  MU_TRY(check_numbers(options.request));
  if (options.no_config && options.config) return usage_error("--config and --no-config cannot be combined");
  MU_TRY(check_version(options));
  BumpOutputPaths paths{options.output, options.config, options.manifest, {}, {}};
  if (options.request.version == 5) {
    MU_TRY(complete_v5(paths));
  } else if (!options.config && !options.no_config && options.output && is_regular_output(*options.output)) {
    paths.config = next_to(*options.output, "config.json");
  }
  MU_TRY(check_names(paths));
  return paths;
}

}  // namespace modelutils
