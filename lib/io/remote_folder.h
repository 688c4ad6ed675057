// Model folders at an address: Hugging Face Hub repositories, whose files the Hub lists. Other addresses are files
// only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/directory_names.h"

namespace modelutils {

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
/// (hf/hub_listing.h). Until then, addresses of folders are refused.
using ReadListing = Result<RemoteListing> (*)(const std::string& text, const std::string& name);
void set_listing_reader(ReadListing reader);

/// True if the address names a repository, or (ending in "/") a folder in it. Sends no request.
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
