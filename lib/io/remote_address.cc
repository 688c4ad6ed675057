#include "io/remote_address.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "io/fetch_helper.h"
#include "io/remote_settings.h"

namespace modelutils {

namespace {

constexpr std::size_t commit_digits = 40;

// Pinned commits by repository, and hidden queries by address.
struct Known {
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> commits;
  std::map<std::string, std::string, std::less<>> queries;
};
Known& known() {
  static Known all;
  return all;
}

std::string_view host_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (url.starts_with('[')) return url.substr(0, url.find(']') + 1);
  return url.substr(0, url.find(':'));
}

bool may_have_token(std::string_view url) {
  if (url.starts_with("https://")) return true;
  const std::string_view host = host_of(url);
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

Status check_web(std::string_view url) {
  const std::string_view rest = url.substr(url.find("://") + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.empty()) return usage_error("the address has no host: it should be https://HOST/PATH");
  if (authority.find('@') != std::string_view::npos) {
    return usage_error("the address has a user or a password in it, which others could read: leave them out");
  }
  return {};
}

std::string percent_encoded(std::string_view segment) {
  std::string text;
  for (const char c : segment) {
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    text += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

std::vector<std::string_view> segments(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto slash = text.find('/');
    parts.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    text.remove_prefix(slash + 1);
  }
}

bool is_commit(std::string_view text) {
  return text.size() == commit_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::string> endpoint() {
  std::string address = environment_variable("HF_ENDPOINT").value_or("https://huggingface.co");
  while (address.ends_with('/')) address.pop_back();
  if (!address.starts_with("https://") && !address.starts_with("http://")) {
    return usage_error("HF_ENDPOINT is not an address that begins with https:// or http://");
  }
  MU_TRY(check_web(address));
  return address;
}

std::string revision_of(const HubAddress& hub) {
  const std::lock_guard lock(known().mutex);
  const auto commit = known().commits.find(hub.repository);
  return commit == known().commits.end() ? hub.revision : commit->second;
}

Status check_characters(std::string_view path) {
  const bool is_hub = path.starts_with("hf://");  // its parts are encoded here
  const auto is_refused = [&](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || (c == ' ' && !is_hub);
  };
  if (std::ranges::none_of(path, is_refused)) return {};
  return usage_error("the address has a space or a control character: write a space as %20");
}

}  // namespace

bool is_address(std::string_view path) {
  const auto colon = path.find("://");
  if (colon == std::string_view::npos || colon == 0) return false;
  return path.substr(0, colon).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-") ==
         std::string_view::npos;
}

Result<std::optional<HubAddress>> hub_address(std::string_view path) {
  constexpr std::string_view scheme = "hf://";
  if (!path.starts_with(scheme)) return std::optional<HubAddress>();
  std::vector<std::string_view> parts = segments(path.substr(scheme.size()));
  if (parts.front() == "models") parts.erase(parts.begin());
  for (const std::string_view kind : {"datasets", "spaces", "kernels", "buckets"}) {
    if (!parts.empty() && parts.front() == kind)
      return usage_error(fmt::format("hf://{}/… is not a repository of models", kind));
  }
  if (parts.size() > 2 && parts.back().empty()) parts.pop_back();  // a folder may end in "/"
  if (parts.size() < 2) return usage_error("the address names no model: it should be hf://ORG/REPO[@REVISION][/PATH]");
  for (const std::string_view part : parts) {
    if (part.empty() || part == "." || part == "..") {
      return usage_error("the path of the address has an empty part, \".\" or \"..\": write it in full");
    }
  }
  const auto at = parts[1].find('@');
  std::string revision = at == std::string_view::npos ? "main" : std::string(parts[1].substr(at + 1));
  std::size_t file = 2;
  // refs/pr/N and refs/convert/NAME contain slashes and take three segments of the address.
  if (revision == "refs" && parts.size() > 3 && (parts[2] == "pr" || parts[2] == "convert")) {
    revision = fmt::format("refs%2F{}%2F{}", parts[2], percent_encoded(parts[3]));
    file = 4;
  } else if (revision.find('%') == std::string::npos) {  // %2F stands for "/" in a branch name
    revision = percent_encoded(revision);
  }
  if (revision.empty() || at == 0) {
    return usage_error("the address has an empty name or revision: it should be hf://ORG/REPO[@REVISION][/PATH]");
  }
  HubAddress hub;
  const std::string_view last = parts[file - 1];
  hub.repository = path.substr(0, static_cast<std::size_t>(last.data() + last.size() - path.data()));
  hub.name = percent_encoded(parts[0]) + "/" + percent_encoded(parts[1].substr(0, at));
  hub.revision = std::move(revision);
  for (; file < parts.size(); ++file) hub.path += (hub.path.empty() ? "" : "/") + std::string(parts[file]);
  return hub;
}

Result<RemoteAddress> resolve_address(const std::string& path) {
  MU_TRY(check_characters(path));
  if (!path.starts_with("hf://") && !path.starts_with("https://") && !path.starts_with("http://")) {
    return usage_error("an address must begin with https://, http:// or hf://");
  }
  MU_ASSIGN(const std::optional<HubAddress> hub, hub_address(path));
  RemoteAddress address;
  if (hub) {
    if (hub->path.empty()) {
      return usage_error("the address names no file: it should be hf://ORG/REPO[@REVISION]/PATH");
    }
    MU_ASSIGN(const std::string web, endpoint());
    address.url = fmt::format("{}/{}/resolve/{}", web, hub->name, revision_of(*hub));
    for (const std::string_view part : segments(hub->path)) address.url += "/" + percent_encoded(part);
    if (may_have_token(web)) address.token = hub_token();
    return address;
  }
  MU_TRY(check_web(path));
  address.url = path.substr(0, path.find('#'));
  const std::lock_guard lock(known().mutex);
  if (const auto query = known().queries.find(address.url); query != known().queries.end())
    address.url += query->second;
  return address;
}

Result<RemoteAddress> listing_address(const HubAddress& hub) {
  MU_TRY(check_characters(hub.repository));
  RemoteAddress address;
  MU_ASSIGN(const std::string web, endpoint());
  address.url = fmt::format("{}/api/models/{}/revision/{}?blobs=true", web, hub.name, revision_of(hub));
  if (may_have_token(web)) address.token = hub_token();
  return address;
}

bool pin_revision(const std::string& repository, const std::string& commit) {
  if (!is_commit(commit)) return true;
  const std::lock_guard lock(known().mutex);
  return known().commits.emplace(repository, commit).first->second == commit;
}

bool is_pinned(std::string_view url) {
  constexpr std::string_view before = "/resolve/";
  const auto at = url.find(before);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = url.substr(at + before.size());
  return is_commit(rest.substr(0, rest.find('/')));
}

std::string hide_query(const std::string& path) {
  const auto query = path.find_first_of("?#");
  if (!is_address(path) || path.starts_with("hf://") || query == std::string::npos) return path;
  std::string shown = path.substr(0, query);
  const std::lock_guard lock(known().mutex);
  known().queries[shown] = path.substr(query, path.find('#') - query);
  return shown;
}

std::string shown_address(const std::string& path) {
  if (path.starts_with("hf://")) return path;
  std::string text = path.substr(0, path.find_first_of("?#"));
  const auto host = text.find("://") + 3;
  const auto at = text.substr(0, text.find('/', host)).rfind('@');
  if (at != std::string::npos && at >= host) text.erase(host, at + 1 - host);
  return text;
}

namespace {

constexpr u64 max_listing = 64 << 20;

ReadListing& listing_reader() {
  static ReadListing reader = nullptr;
  return reader;
}

// The listing of each repository, or the error of its request.
struct Listings {
  std::mutex mutex;
  std::map<std::string, Result<std::shared_ptr<const RemoteListing>>, std::less<>> all;
};

Result<std::shared_ptr<const RemoteListing>> ask(const HubAddress& hub) {
  if (listing_reader() == nullptr) return usage_error("a remote folder cannot be read here");
  MU_TRY(check_online());
  MU_ASSIGN(const RemoteAddress address, listing_address(hub));
  MU_ASSIGN(const auto file, FetchedFile::open(address, hub.repository));
  std::vector<std::byte> answer;
  MU_TRY(file->read_whole(max_listing, answer));
  std::string text(reinterpret_cast<const char*>(answer.data()), answer.size());
  MU_ASSIGN(RemoteListing listing, listing_reader()(text, hub.repository));
  listing.text = std::move(text);
  if (!pin_revision(hub.repository, listing.commit)) {
    return input_error("remote-changed", "the model changed while it was being read");
  }
  return std::make_shared<const RemoteListing>(std::move(listing));
}

// "" for the repository itself, otherwise "sub/".
std::string below(const HubAddress& hub) {
  return hub.path.empty() ? std::string() : hub.path + "/";
}

}  // namespace

void set_listing_reader(ReadListing reader) {
  listing_reader() = reader;
}

bool is_remote_folder(std::string_view path) {
  const auto hub = hub_address(path);
  if (!hub || !*hub) return false;
  const std::string& place = (*hub)->path;
  return place.empty() || path.ends_with('/') || place.find('.', place.rfind('/') + 1) == std::string::npos;
}

Result<std::shared_ptr<const RemoteListing>> remote_listing(const std::string& path) {
  MU_ASSIGN(const std::optional<HubAddress> hub, hub_address(path));
  if (!hub) return usage_error("the address is not a repository: it should be hf://ORG/REPO");
  static Listings listings;
  const std::lock_guard lock(listings.mutex);
  if (const auto known = listings.all.find(hub->repository); known != listings.all.end()) return known->second;
  auto listing = ask(*hub);
  if (!listing) listing = tl::make_unexpected(in_file(std::move(listing.error()), hub->repository));
  return listings.all.emplace(hub->repository, std::move(listing)).first->second;
}

Result<std::vector<RemoteName>> remote_names(const std::string& folder) {
  std::vector<RemoteName> names;
  MU_ASSIGN(const std::optional<HubAddress> hub, hub_address(folder));
  if (!hub) return names;
  MU_ASSIGN(const auto listing, remote_listing(folder));
  const std::string start = below(*hub);
  for (const ListedRemote& file : listing->files) {
    if (!file.name.starts_with(start)) continue;
    const std::string_view rest = std::string_view(file.name).substr(start.size());
    const auto slash = rest.find('/');
    const EntryKind kind = slash == std::string_view::npos ? EntryKind::file : EntryKind::directory;
    const std::string_view name = rest.substr(0, slash);
    if (names.empty() || names.back().name != name) names.push_back({std::string(name), kind});
  }
  std::ranges::sort(names, {}, &RemoteName::name);
  const auto is_same = [](const RemoteName& a, const RemoteName& b) { return a.name == b.name; };
  names.erase(std::unique(names.begin(), names.end(), is_same), names.end());
  return names;
}

bool stays_in_remote_folder(std::string_view folder, std::string_view name) {
  bool is_safe = !name.empty();
  for (const char c : name) {
    const bool means_more = c == '?' || c == '#' || c == '%' || c == '\\';
    is_safe = is_safe && static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
    is_safe = is_safe && (folder.starts_with("hf://") || (!means_more && c != ' '));
  }
  for (std::string_view rest = name; is_safe && !rest.empty();) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view step = rest.substr(0, end);
    is_safe = !step.empty() && step != "." && step != "..";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return is_safe;
}

bool is_remote_present(const std::string& path) {
  const auto hub = hub_address(path);
  if (!hub || !*hub) return false;
  const auto listing = remote_listing(path);
  if (!listing) return true;  // opening the file will report the error
  const std::string& name = (*hub)->path;
  const auto& files = (*listing)->files;
  const auto found = std::ranges::lower_bound(files, name, {}, &ListedRemote::name);
  return found != files.end() && found->name == name;
}

}  // namespace modelutils
