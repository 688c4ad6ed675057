#include "hf/hub_listing.h"

#include <algorithm>

#include "base/utf8.h"
#include "json/reader.h"

namespace modelutils::hf {

namespace {

constexpr std::size_t max_files = 1'000'000;

bool is_safe_name(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\\') return false;
  }
  while (true) {
    const auto slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string hex_member(json::Element value, std::string_view key, std::size_t digits) {
  const std::string_view text = json::string_member(value, key).value_or("");
  return is_hex(text, digits) ? std::string(text) : std::string();
}

ListedRemote read_file(json::Element file, std::string_view name) {
  ListedRemote listed{
      std::string(name), json::u64_member(file, "size").value_or(0), {}, hex_member(file, "blobId", 40)};
  const auto lfs = json::member(file, "lfs");
  if (!lfs) return listed;
  listed.sha256 = hex_member(*lfs, "sha256", 64);
  listed.size = json::u64_member(*lfs, "size").value_or(listed.size);
  return listed;
}

}  // namespace

Result<RemoteListing> parse_hub_listing(const std::string& text, const std::string& name) {
  MU_ASSIGN(const auto document, json::parse(text, name));
  const auto files = json::array_member(document->root, "siblings");
  if (!files)
    return input_error("remote-listing", "the server's answer is not a list of a model's files", {}, {}, name);
  RemoteListing listing;
  listing.commit = hex_member(document->root, "sha", 40);
  for (const json::Element file : *files) {
    const auto path = json::string_member(file, "rfilename");
    if (!path || !is_safe_name(*path)) continue;
    if (listing.files.size() == max_files) {
      return input_error("remote-listing", "the server's answer lists more than a million files", {}, {}, name);
    }
    listing.files.push_back(read_file(file, *path));
  }
  std::ranges::stable_sort(listing.files, {}, &ListedRemote::name);
  const auto is_same = [](const ListedRemote& a, const ListedRemote& b) { return a.name == b.name; };
  listing.files.erase(std::unique(listing.files.begin(), listing.files.end(), is_same), listing.files.end());
  return listing;
}

void read_hub_listings() {
  set_listing_reader(parse_hub_listing);
}

}  // namespace modelutils::hf
