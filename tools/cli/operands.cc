#include "cli/operands.h"

#include <fmt/core.h>

#include <map>

#include "base/os/files.h"
#include "base/path.h"
#include "io/remote_address.h"
#include "model/download_record.h"
#include "store/store_names.h"

namespace modelutils::cli {

namespace {

// The names of this run that no store has, with the reason, and those that stand for a path.
struct GivenNames {
  std::map<std::string, Error, std::less<>> missing;
  std::map<std::string, std::string, std::less<>> by_path;
};
GivenNames& given_names() {
  static GivenNames names;
  return names;
}

// Returns a name that has no model, if the error is about it or about a file that was looked for in it.
const Error* missing_name(const std::string& file) {
  for (const auto& [name, reason] : given_names().missing) {
    if (file == name || (file.starts_with(name) && file[name.size()] == '/')) return &reason;
  }
  return nullptr;
}

}  // namespace

std::string operand_path(const std::string& operand, Manifests manifests) {
  std::string path = operand;
  if (store_name(operand)) {
    auto found = resolve_store_name(operand);
    if (!found) {
      given_names().missing.insert_or_assign(operand, found.error());
      return operand;
    }
    path = std::move(*found);
    given_names().by_path.insert_or_assign(path, operand);
  }
  return manifests == Manifests::to_model ? manifest_model(path) : path;
}

std::optional<Error> explained_operand(const Error& error) {
  if (error.kind != ErrorKind::input || error.file.empty() || is_address(error.file)) return std::nullopt;
  if (const Error* reason = missing_name(error.file)) return *reason;
  const auto& names = given_names().by_path;
  if (const auto name = names.find(error.file); name != names.end() && os::is_folder(error.file)) {
    const std::string first = gguf_in(error.file);
    if (first.empty() || (error.code != "io-directory" && error.code != "convert-no-config")) return std::nullopt;
    Error better = error;
    better.message = fmt::format("has several models: name one of them, such as '{}/{}'", name->second, first);
    better.file = name->second;
    return better;
  }
  if (error.offset || os::link_status(error.file)) return std::nullopt;
  const std::string name = suggested_store_name(error.file);
  if (name.empty()) return std::nullopt;
  Error better = error;
  better.message += fmt::format("; a model in a store is named '{}'", name);
  return better;
}

}  // namespace modelutils::cli
