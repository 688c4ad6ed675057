// Addresses of models (https: …, http: … and hf: ORG/REPO[@REVISION][/PATH] for the Hugging Face Hub) and the folders
// at them: repositories, whose files the Hub lists. Other addresses are files only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/model_folder.h"

namespace modelutils {

/// True if `path` is an address rather than a file name. True for every SCHEME://…, also for schemes that
/// resolve_address() refuses.
bool is_address(std::string_view path);

/// A URL and the token to send with the request.
struct RemoteAddress {
  std::string url;
  std::string token;  ///< sent only to the origin of `url`; empty for none
};

/// A Hub repository, or a file in it.
struct HubAddress {
  std::string repository;  ///< the part of the address that identifies it: "hf://ORG/REPO@REVISION"
  std::string name;        ///< "ORG/REPO", encoded for a URL
  std::string revision;    ///< encoded for a URL; "main" if the address names none
  std::string path;        ///< of the file in the repository; empty for the repository itself
};

/// Parses an hf:// address. Returns nullopt for other addresses. Errors are of kind usage: another kind of repository,
/// or parts that are empty, "." or "..".
Result<std::optional<HubAddress>> hub_address(std::string_view path);

/// Returns the URL of a file. HF_ENDPOINT sets the Hub's address. A token (hub_token()) is sent only for hf://
/// addresses, and only over https or to this machine. A pinned revision is replaced by its commit. Errors are of kind
/// usage: those of hub_address(), another scheme, a user or password in the address, control characters, a repository
/// without a path.
Result<RemoteAddress> resolve_address(const std::string& path);

/// Returns the URL of the Hub's list of a repository's files, with sizes, checksums and the commit. Errors: those of
/// resolve_address().
Result<RemoteAddress> listing_address(const HubAddress& hub);

/// Requests all later files of `repository` (HubAddress::repository) at this commit. Returns false if it is already
/// pinned to another one. Has no effect if `commit` is not a commit.
bool pin_revision(const std::string& repository, const std::string& commit);

/// True if the URL names a commit, so that its content cannot change.
bool is_pinned(std::string_view url);

/// Returns the address without its query, which may contain a signature or key and must not appear in messages.
/// resolve_address() restores the query. Paths and addresses without a query are returned unchanged.
std::string hide_query(const std::string& path);

/// Returns the address without query, user and password.
std::string shown_address(const std::string& path);

// Model folders at an address: Hugging Face Hub repositories, whose files the Hub lists. Other addresses are files
// only.

/// A file in a repository, from the Hub's listing.
struct ListedRemote {
  std::string name;    ///< includes the folders within the repository
  u64 size = 0;        ///< in bytes
  std::string sha256;  ///< of the content, in hex; only for large files, where the Hub reports it
  std::string blob;    ///< git blob id in hex; the pointer file's id if sha256 is set
};

struct RemoteListing {
  std::string text;                 ///< the Hub's answer: JSON
  std::string commit;               ///< the commit at which the files are read
  std::vector<ListedRemote> files;  ///< sorted by name; excludes names that would leave the folder
};

/// Parses the Hub's answer about a repository. lib/io cannot parse JSON, so a higher layer sets this function
/// (formats/hf/names.h). Until then, addresses of folders are refused.
using ReadListing = Result<RemoteListing> (*)(const std::string& text, const std::string& name);
void set_listing_reader(ReadListing reader);

/// True if the address names a repository, or a folder in it: it ends in "/" or in a name without a point, which no
/// file of a model has. Sends no request.
bool is_remote_folder(std::string_view path);

/// Returns the files of the address's repository, which is requested once. Codes: those of FetchedFile,
/// "remote-listing", "remote-offline".
Result<std::shared_ptr<const RemoteListing>> remote_listing(const std::string& path);

/// The sorted names and types of the entries in a remote folder: those in the listing for a repository's folder, none
/// for other addresses. Codes: those of remote_listing().
struct RemoteName {
  std::string name;
  EntryKind kind;
};
Result<std::vector<RemoteName>> remote_names(const std::string& folder);

/// True if `name`, taken from a file of the model, can only refer to a file in or below the folder at an address.
bool stays_in_remote_folder(std::string_view folder, std::string_view name);

/// True if the file exists, as far as known without requesting it.
bool is_remote_present(const std::string& path);

}  // namespace modelutils
