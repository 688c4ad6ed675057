// Addresses of models: https://…, http://… and hf://ORG/REPO[@REVISION][/PATH], of the Hugging Face Hub.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace modelutils {

/// Is `path` an address, and not a file's name? True for everything of the form SCHEME://…, also for schemes that
/// resolve_address() refuses.
bool is_address(std::string_view path);

/// What is asked for, and with which token.
struct RemoteAddress {
  std::string url;
  std::string token;  ///< for the origin of `url` alone; empty for none
};

/// A repository of the Hub, or a file of it.
struct HubAddress {
  std::string repository;  ///< the part of the address that names it: "hf://ORG/REPO@REVISION"
  std::string name;        ///< "ORG/REPO", as it stands in a URL
  std::string revision;    ///< as it stands in a URL: "main" where the address names none
  std::string path;        ///< of the file in it; empty for the repository itself
};

/// Nothing for other addresses. Errors are of wrong usage: another kind of repository, parts that are empty, "." or
/// "..".
Result<std::optional<HubAddress>> hub_address(std::string_view path);

/// The web address of a file. HF_ENDPOINT says where the Hub is. A token (hub_token()) goes with hf:// only, and only
/// over https or to this machine. A revision that was pinned is asked for by its commit. Errors are of wrong usage:
/// those of hub_address(), another scheme, a user or password in the address, control characters, a repository without
/// a path.
Result<RemoteAddress> resolve_address(const std::string& path);

/// Where the Hub lists a repository's files, with sizes, checksums and the commit. Errors as resolve_address().
Result<RemoteAddress> listing_address(const HubAddress& hub);

/// From now on files of `repository` (as HubAddress says it) are asked for at this commit. False if it was pinned to
/// another one. What is not a commit pins nothing.
bool pin_revision(const std::string& repository, const std::string& commit);

/// Does the web address name a commit, so that what is there cannot change?
bool is_pinned(std::string_view url);

/// The address without its query, which may hold a signature or a key and must not be in a message. resolve_address()
/// puts the query to the address back on. Paths and addresses without one stay as they are.
std::string hide_query(const std::string& path);

/// The address without its query and without a user and password.
std::string shown_address(const std::string& path);

}  // namespace modelutils
