// Manifests: checksums of a model's tensors and files, made by verify --hash and by other tools, read by --check.
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
#include "base/finding_log.h"
#include "io/hash.h"
#include "io/progress.h"
#include "model/tensor_catalog.h"
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
  /// Published checksums: every entry is a file, side files too, named from the manifest's folder on.
  bool is_published = false;
  std::vector<ManifestNumber> numbers;
  FindingLog remarks;  ///< what the manifest says and nobody checks
};

/// Reads a manifest of any known form: JSON Lines of verify --hash, the JSON object of gguf2bump --manifest, the text
/// of llama-gguf-hash; published checksums (verify/manifest/sums.h): the lines of sha256sum, the Hub's lists of files,
/// a Git LFS pointer. Errors: those of reading, "manifest-syntax", "manifest-empty", "manifest-too-large",
/// "manifest-name".
Result<Manifest> load_manifest(const std::string& path);
Result<Manifest> parse_manifest(std::string_view text, std::string path);

class ManifestIndex;

/// Compares models with a manifest. It may be about several of them; check_model() takes what is about one, finish()
/// says what nobody took.
class ManifestCheck {
 public:
  /// `single_model`: only one path is verified, so its one file may have been renamed since. `paths` are those given:
  /// of published checksums every file in them is compared. `follow_links`: links out of the manifest's folder are
  /// meant.
  /// `lists_alone`: no path was given, so that what is not listed is not asked for.
  ManifestCheck(Manifest manifest, bool single_model, std::vector<std::string> paths = {}, bool follow_links = false,
                bool lists_alone = false);

  const Manifest& manifest() const { return *manifest_; }
  bool is_of_single_model() const { return single_model_; }
  /// Of published checksums: how many files of the list were there so far.
  std::size_t compared_files() const { return used_names_.size(); }

  /// Hashes what the manifest has of this model. Codes: "manifest-differs", "manifest-missing", "manifest-new",
  /// "manifest-new-file", "manifest-renamed", those of reading.
  void check_model(const Catalog& catalog, unsigned threads, FindingLog& log, Progress* progress = nullptr);
  /// What nobody took. Of published checksums the other files of the paths are compared now. Codes: "manifest-differs",
  /// "manifest-missing-file", "manifest-extra-file", "manifest-not-asked", "manifest-link", "manifest-name", those of
  /// reading, and the manifest's remarks.
  void finish(FindingLog& log, unsigned threads = 1, Progress* progress = nullptr);

 private:
  class Plan;
  class Comparison;
  struct Claim;
  struct Others;
  /// What the list calls the file: its name from the list's folder on, its absolute name, and where a path was given
  /// its name from there on, or the only name with its base name. One that the list lacks has the first of these.
  std::string published_name(const std::string& path);
  void prepare_published();
  bool is_given(std::string_view name) const;
  bool leads_out(const std::string& path, const std::string& name, FindingLog& log) const;
  void check_other_files(unsigned threads, FindingLog& log, Progress* progress);
  void tell_what_is_missing(FindingLog& log) const;
  void compare_later(const std::string& path, const std::string& name, Others& others, FindingLog& log);
  void visit_files(const std::string& folder, Others& others, FindingLog& log);
  /// What of the manifest is about the model's files: for each entry at most one claim, in the order of the manifest.
  std::vector<Claim> claims(const std::vector<std::string>& names) const;
  /// The base names of the model's files; of its only file the manifest's own name for it if that is another one.
  std::vector<std::string> names_in_manifest(const Catalog& catalog, FindingLog& log);

  std::shared_ptr<const Manifest> manifest_;
  std::shared_ptr<const ManifestIndex> index_;  // of its entries
  std::vector<bool> used_;
  std::optional<std::string> unnamed_taken_by_;  // the file that has the entries without a name
  bool single_model_;
  std::vector<std::string> paths_;  // normal
  bool follow_links_;
  bool lists_alone_;
  // Of published checksums.
  std::vector<std::string> given_below_;        // the paths, from the list's folder on; "": all of it
  std::unordered_set<std::string> used_names_;  // of the list, that a file has taken
  bool is_of_operands_ = false;                 // names begin in the folders that were given
};

enum class ManifestForm : u8 { json_lines, sums };  ///< ours; what sha256sum writes, of files alone

/// Hashes every tensor of the model, with `whole_file` also every file, and hands over the manifest's lines in file
/// order, each with its line feed; stops when `line` returns false. What cannot be read is a finding and has no line.
void write_manifest(const Catalog& catalog, HashAlgorithm algorithm, bool whole_file, unsigned threads,
                    const std::function<bool(std::string_view line)>& line, FindingLog& log,
                    Progress* progress = nullptr, ManifestForm form = ManifestForm::json_lines);

}  // namespace modelutils
