#include "base/path.h"

#include <algorithm>
#include <vector>

#include "base/os/files.h"

namespace modelutils {

namespace {

// The components of a path without its root. After a final '/', there is an empty component.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) parts.push_back(path.substr(0, slash));
    if (slash == path.npos) return parts;
    path.remove_prefix(slash + 1);
    if (path.empty()) parts.emplace_back();
  }
  return parts;
}

}  // namespace

std::string parent_of(std::string_view path) {
  const std::size_t root = os::root_size(path);
  std::size_t end = std::max(path.rfind('/') + 1, root);
  while (end > root && path[end - 1] == '/') --end;
  return std::string(path.substr(0, end));
}

std::string path_in(std::string_view folder, std::string_view name) {
  if (folder.empty() || os::is_absolute(name)) return std::string(name);
  std::string path(folder);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

std::string extension_of_path(std::string_view path) {
  const std::string name = base_name_of(path);
  const std::size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 || name == ".." ? std::string() : name.substr(dot);
}

std::string normalised(std::string_view path) {
  if (path.empty()) return {};
  const std::size_t root = os::root_size(path);
  std::vector<std::string_view> kept;
  bool ends_with_slash = false;
  for (const std::string_view part : parts_of(path.substr(root))) {
    ends_with_slash = part.empty() || part == "." || part == "..";
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.push_back(part);
    } else if (!kept.empty() && kept.back() != "..") {
      kept.pop_back();
    } else if (root == 0) {
      kept.push_back(part);
    }
  }
  std::string out(path.substr(0, root));
  if (root > 0 && !out.ends_with('/')) out += '/';
  for (const std::string_view part : kept) out.append(part) += '/';
  const bool keeps_slash = ends_with_slash && !kept.empty() && kept.back() != "..";
  if (!kept.empty() && !keeps_slash) out.pop_back();
  return out.empty() ? "." : out;
}

bool stays_below(std::string_view name) {
  if (name.find('\0') != name.npos) return false;
  while (true) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    if (part.size() == name.size()) return true;
    name.remove_prefix(part.size() + 1);
  }
}

std::string path_from(std::string_view base, std::string_view path) {
  const std::size_t root = os::root_size(path);
  if (base.substr(0, os::root_size(base)) != path.substr(0, root)) return {};
  const std::vector<std::string_view> from = parts_of(base.substr(root)), to = parts_of(path.substr(root));
  const auto [in_from, in_to] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  if (in_from == from.end() && in_to == to.end()) return ".";
  const auto up = std::count_if(in_from, from.end(), [](std::string_view part) { return !part.empty(); });
  if (up == 0 && (in_to == to.end() || in_to->empty())) return ".";
  std::string out;
  for (std::ptrdiff_t i = 0; i < up; ++i) out += "../";
  for (auto part = in_to; part != to.end(); ++part) out.append(*part) += '/';
  out.pop_back();
  return out;
}

std::string normal_path(const std::string& path) {
  if (path.empty()) return path;
  if (os::is_absolute(path)) return normalised(path);
  const auto here = os::working_folder();
  return normalised(here ? path_in(*here, path) : path);
}

}  // namespace modelutils
