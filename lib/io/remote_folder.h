// Folders of models at an address: repositories of the Hugging Face Hub, whose files the Hub lists. Other addresses
// are of files only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/directory_names.h"

namespace modelutils {

/// A file of a repository, as the Hub lists it.
struct ListedRemote {
  std::string name;    ///< with the folders in the repository
  u64 size = 0;        ///< bytes
  std::string sha256;  ///< of the content, in hex, where the Hub says it: of large files
  std::string blob;    ///< git's identifier of it, in hex; of a pointer where there is a sha256
};

struct RemoteListing {
  std::string text;                 ///< what the Hub answered: JSON
  std::string commit;               ///< at which its files are read
  std::vector<ListedRemote> files;  ///< by name; none that would lead out of a folder
};

/// Reads what the Hub says of a repository. The JSON that it is written in is known to a higher floor, which sets this
/// (hf/hub_listing.h); until then there are no folders at addresses.
using ReadListing = Result<RemoteListing> (*)(const std::string& text, const std::string& name);
void set_listing_reader(ReadListing reader);

/// Does the address name a repository, or a folder in it (it then ends in "/")? Nothing is asked for that.
bool is_remote_folder(std::string_view path);

/// The files of the repository that the address is in; it is asked for once. Code: those of FetchedFile,
/// "remote-listing", "remote-offline".
Result<std::shared_ptr<const RemoteListing>> remote_listing(const std::string& path);

/// The names in a folder at an address, sorted, with what they are: of a repository's folder those that its listing
/// has, of others none. Codes: those of remote_listing().
struct RemoteName {
  std::string name;
  EntryKind kind;
};
Result<std::vector<RemoteName>> remote_names(const std::string& folder);

/// Can `name`, which a file of the model gave, only be a file in that folder at an address or below it?
bool stays_in_remote_folder(std::string_view folder, std::string_view name);

/// Is there such a file, as far as that is known without asking for the file?
bool is_remote_present(const std::string& path);

}  // namespace modelutils
