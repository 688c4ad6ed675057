#include "io/remote_folder.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "io/fetch_helper.h"
#include "io/remote_address.h"
#include "io/remote_settings.h"

namespace modelutils {

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
  return hub && *hub && ((*hub)->path.empty() || path.ends_with('/'));
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
