// Manifests: checksums of a model's tensors and files, parsed line by line. verify --hash and other tools write them;
// --check reads them, with the facts that gguf2bump records beyond the checksums; --published fetches the Hub's
// current list.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "io/hash.h"
#include "io/standard_output.h"
#include "model/catalog.h"
#include "rules/formats.h"
#include "verify/manifest/entries.h"

namespace modelutils {

/// A number of a model's header that a manifest records (gguf2bump: "dimensions").
struct ManifestNumber {
  std::string name;
  u64 value = 0;
};

struct Manifest {
  std::string path;
  ManifestEntries entries;
  /// Published checksums: every entry is a file, including files beside the weights, with a path relative to the
  /// manifest's folder.
  bool is_published = false;
  std::string_view wanted = "in the manifest";  ///< ends the message about a digest that differs: "but DIGEST …"
  std::vector<ManifestNumber> numbers;
  FindingLog remarks;  ///< findings of reading the manifest
};

/// Reads a manifest of any known form: the JSON Lines of verify --hash, the JSON object of gguf2bump --manifest, the
/// text of llama-gguf-hash; published checksums (verify/manifest/sums.h): sha256sum lines, the Hub's file lists, a Git
/// LFS pointer. Errors: those of reading, "manifest-syntax", "manifest-empty", "manifest-too-large", "manifest-name".
Result<Manifest> load_manifest(const std::string& path);
/// Like load_manifest(), from the whole text. `path` is for messages.
Result<Manifest> parse_manifest(std::string_view text, std::string path);

/// Returns the manifest of one file whose SHA-256 the user states, with or without "sha256:" before the digits. Errors:
/// not 64 hexadecimal digits (kind usage).
Result<Manifest> manifest_of_digest(std::string_view sha256, const std::string& path);

class ManifestIndex;

/// Compares models with a manifest, which may cover several of them. check_model() claims the entries about one model;
/// finish() reports the entries that no model claimed.
class ManifestCheck {
 public:
  /// `single_model`: only one path is verified, so its one file may have been renamed since. `paths`: the paths given
  /// by the user; with published checksums every file in them is compared. `follow_links`: accept links that leave the
  /// manifest's folder. `lists_alone`: no path was given, so files missing from the list are not reported.
  ManifestCheck(Manifest manifest, bool single_model, std::vector<std::string> paths = {}, bool follow_links = false,
                bool lists_alone = false);

  const Manifest& manifest() const { return *manifest_; }
  bool is_of_single_model() const { return single_model_; }
  /// Returns the number of files in the published list found so far.
  std::size_t compared_files() const { return used_names_.size(); }

  /// Hashes the tensors and files of this model that the manifest lists. Codes: "manifest-differs", "manifest-missing",
  /// "manifest-new", "manifest-new-file", "manifest-renamed", those of reading.
  void check_model(const Catalog& catalog, unsigned threads, FindingLog& log, Progress* progress = nullptr);
  /// Reports the unclaimed entries. With published checksums, first compares the other files below the paths. Codes:
  /// "manifest-differs", "manifest-missing-file", "manifest-extra-file", "manifest-not-asked", "manifest-link",
  /// "manifest-name", those of reading, and the manifest's remarks.
  void finish(FindingLog& log, unsigned threads = 1, Progress* progress = nullptr);

 private:
  class Plan;
  class Comparison;
  struct Claim;
  struct Others;
  /// Returns the file's name in the list. The list may name it relative to its own folder, by its absolute path,
  /// relative to a given path, or by an otherwise unused base name. If the list lacks it: its path relative to the
  /// list's folder, else its base name.
  std::string published_name(const std::string& path);
  void prepare_published();
  bool is_given(std::string_view name) const;
  bool leads_out(const std::string& path, const std::string& name, FindingLog& log) const;
  void check_other_files(unsigned threads, FindingLog& log, Progress* progress);
  void tell_what_is_missing(FindingLog& log) const;
  void compare_later(const std::string& path, const std::string& name, Others& others, FindingLog& log);
  void visit_files(const std::string& folder, Others& others, FindingLog& log);
  /// Returns the entries about the model's files, in manifest order, with at most one claim per entry.
  std::vector<Claim> claims(const std::vector<std::string>& names) const;
  /// Returns the base names of the model's files. If the model has a single file that the manifest lists under another
  /// name, returns that name.
  std::vector<std::string> names_in_manifest(const Catalog& catalog, FindingLog& log);

  std::shared_ptr<const Manifest> manifest_;
  std::shared_ptr<const ManifestIndex> index_;  // index of the manifest's entries
  std::vector<bool> used_;
  std::optional<std::string> unnamed_taken_by_;  // the file that claimed the entries without a name
  bool single_model_;
  std::vector<std::string> paths_;  // normalised
  bool follow_links_;
  bool lists_alone_;
  // For published checksums.
  std::vector<std::string> given_below_;        // the paths relative to the list's folder; "" is the whole folder
  std::unordered_set<std::string> used_names_;  // names in the list that a file has claimed
  bool is_of_operands_ = false;                 // names in the list are relative to the given folders
};

enum class ManifestForm : u8 { json_lines, sums };  ///< JSON Lines of our own, or sha256sum's form with files only

/// Hashes every tensor of the model, with `whole_file` also every file, and passes the manifest's lines to `line` in
/// file order, each with its line feed; stops when `line` returns false. Unreadable data is reported as a finding and
/// gets no line.
void write_manifest(const Catalog& catalog, HashAlgorithm algorithm, bool whole_file, unsigned threads,
                    const std::function<bool(std::string_view line)>& line, FindingLog& log,
                    Progress* progress = nullptr, ManifestForm form = ManifestForm::json_lines);

// Parses manifests line by line, so that memory holds one line at a time. Internal.

/// True if a text with this beginning (at least its first line) consists of lines; false for a JSON document or a Git
/// LFS pointer.
bool is_of_lines(std::string_view beginning);

/// Parses lines into a manifest, which must outlive it.
class ManifestLines {
 public:
  explicit ManifestLines(Manifest& manifest) : manifest_(manifest) {}

  /// Parses the next line, given without its line feed. Error: "manifest-syntax".
  Status take(std::string_view line);

 private:
  Manifest& manifest_;
  u64 number_ = 0;
};

/// Refuses a text whose beginning shows that it is something else, such as a model. Error: "manifest-syntax".
Status refuse_other_kinds(std::string_view beginning, const std::string& path);
/// Checks a manifest that has been read to its end. Errors: "manifest-empty", "manifest-name".
Result<Manifest> complete(Manifest manifest);

// verify --check for BUMPWGT3: checks the facts that a gguf2bump manifest records beyond the checksums.

/// Compares header and dtype table with the manifest and names each differing field and entry. If the file's layout
/// cannot be derived from the file alone, the catalog is filled with the entry offsets in the manifest. Call before
/// comparing checksums, which needs the catalog.
void check_bump_manifest(const Model& model, const Manifest& manifest, CheckedModel& checked);

// Fetches the Hub's current list of a repository's files as a manifest (--published).

/// Loads the list for the repository, folder or file at an address, "hf://ORG/REPO[@REVISION][/PATH]". `paths`: the
/// local paths to compare; a repository folder in a download cache is replaced by its snapshot of the list's revision.
/// If the cache lacks that revision or has another one, the manifest gets a remark ("manifest-revision"). Errors: those
/// of remote_listing() and parse_manifest(); "remote-missing" (the repository has no file or folder of that name).
Result<Manifest> load_published(const std::string& address, std::vector<std::string>& paths);

}  // namespace modelutils
