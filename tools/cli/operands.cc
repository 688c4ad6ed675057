#include "cli/operands.h"

#include <map>

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
  auto path = model_path(operand, manifests);
  if (!path) {
    given_names().missing.insert_or_assign(operand, path.error());
    return operand;
  }
  if (*path != operand) given_names().by_path.insert_or_assign(*path, operand);
  return std::move(*path);
}

std::optional<Error> explained_operand(const Error& error) {
  if (error.kind != ErrorKind::input) return std::nullopt;
  if (const Error* reason = missing_name(error.file)) return *reason;
  const auto& names = given_names().by_path;
  const auto name = names.find(error.file);
  return clearer_name_error(error, name == names.end() ? error.file : name->second);
}

}  // namespace modelutils::cli
