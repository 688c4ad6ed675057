#include "verify/signature/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <set>
#include <vector>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/model_folder.h"
#include "io/random_access_file.h"
#include "json/reader.h"
#include "verify/manifest/check.h"
#include "verify/signature/bundle.h"

namespace modelutils::signature {

namespace {

constexpr std::string_view old_type = "https://model_signing/Digests/v0.1";
constexpr std::array<std::string_view, 4> left_out_of_all = {".git", ".gitignore", ".gitattributes", ".github"};

tl::unexpected<Error> refuse_statement(std::string_view field, std::string message) {
  return input_error("signature-statement", std::move(message), fmt::format("field '{}'", field));
}

std::optional<u64> trailing_number(std::string_view& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  u64 number = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text = text.substr(0, colon);
  return number;
}

Result<HashAlgorithm> hash_of(std::string_view field, std::string_view name) {
  if (name == "sha256") return HashAlgorithm::sha256;
  if (name == "blake2b") return HashAlgorithm::blake2b;
  return input_error(
      "signature-hash",
      fmt::format("the hash '{}' is not supported, only sha256 and blake2b are; check it with model_signing", name),
      fmt::format("field '{}'", field));
}

Status read_serialization(json::Element predicate, Statement& statement) {
  const auto value = json::member(predicate, "serialization");
  if (!value || !value->is_object()) return refuse_statement("predicate.serialization", "is missing");
  const auto method = json::string_member(*value, "method");
  if (method != "files" && method != "shards") {
    return refuse_statement("predicate.serialization.method", "must be files or shards");
  }
  statement.is_sharded = method == "shards";
  const auto shard_bytes = json::u64_member(*value, "shard_size");
  if (statement.is_sharded && shard_bytes.value_or(0) == 0) {
    return refuse_statement("predicate.serialization.shard_size", "must be a positive number of bytes");
  }
  statement.shard_bytes = shard_bytes.value_or(0);
  MU_ASSIGN(statement.hash,
            hash_of("predicate.serialization.hash_type", json::string_member(*value, "hash_type").value_or("none")));
  const auto links = json::bool_member(*value, "allow_symlinks");
  if (!links) return refuse_statement("predicate.serialization.allow_symlinks", "must be true or false");
  statement.follows_links = *links;
  if (const auto paths = json::array_member(*value, "ignore_paths")) {
    for (const json::Element element : *paths) {
      std::string_view path;
      if (!element.get(path))
        return refuse_statement("predicate.serialization.ignore_paths", "must be a list of texts");
      statement.left_out.emplace_back(path);
    }
  }
  return {};
}

Result<Resource> read_resource(json::Element value, const Statement& statement) {
  constexpr std::string_view field = "predicate.resources";
  std::string_view name = json::string_member(value, "name").value_or(std::string_view());
  const std::string_view digest = json::string_member(value, "digest").value_or(std::string_view());
  MU_ASSIGN(const HashAlgorithm hash,
            hash_of("predicate.resources.algorithm", json::string_member(value, "algorithm").value_or("none")));
  if (hash != statement.hash)
    return refuse_statement(field, "has an algorithm that is not the hash_type of the statement");
  const std::size_t digits = hash == HashAlgorithm::blake2b ? 128 : 64;
  const bool is_hex =
      std::ranges::all_of(digest, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (digest.size() != digits || !is_hex)
    return refuse_statement(field, fmt::format("has a digest that is not {} digits", digits));
  Resource resource;
  resource.digest = digest;
  if (statement.is_sharded) {
    const auto end = trailing_number(name);
    const auto begin = end ? trailing_number(name) : std::nullopt;
    if (!begin || *begin >= *end || *begin % statement.shard_bytes != 0 || *end - *begin > statement.shard_bytes) {
      return refuse_statement(field, "has a name that does not end with the begin and the end of a shard");
    }
    resource.begin = *begin;
    resource.end = *end;
  }
  // OMS's canonical form has no empty, "." and ".." parts.
  if (!stays_below(name) && name != Statement::itself)
    return refuse_statement(field, fmt::format("has the name '{}', which is not a plain relative path", name));
  resource.name = name;
  return resource;
}

Status refuse_old_type(json::Element root) {
  if (json::string_member(root, "predicateType") != old_type) return {};
  return refuse_statement("predicateType",
                          "is that of model_signing before 0.3, which is no longer checked; sign the model again");
}

}  // namespace

Status refuse_old_statement(std::string_view payload) {
  const auto document = json::parse(payload, "statement");
  return document ? refuse_old_type((*document)->root) : Status();
}

Result<Statement> parse_statement(std::string_view payload, std::string name) {
  MU_ASSIGN(const auto document, json::parse(payload, std::move(name)));
  const json::Element root = document->root;
  if (json::string_member(root, "_type") != "https://in-toto.io/Statement/v1") {
    return refuse_statement("_type", "must be https://in-toto.io/Statement/v1");
  }
  MU_TRY(refuse_old_type(root));
  const auto type = json::string_member(root, "predicateType");
  if (type != "https://model_signing/signature/v1.0") {
    return refuse_statement("predicateType", "must be https://model_signing/signature/v1.0");
  }
  const auto predicate = json::member(root, "predicate");
  if (!predicate || !predicate->is_object()) return refuse_statement("predicate", "is missing");
  Statement statement;
  MU_TRY(read_serialization(*predicate, statement));
  const auto resources = json::array_member(*predicate, "resources");
  if (!resources || resources->begin() == resources->end())
    return refuse_statement("predicate.resources", "names no file");
  for (const json::Element element : *resources) {
    MU_ASSIGN(Resource resource, read_resource(element, statement));
    statement.resources.push_back(std::move(resource));
  }
  const auto is_itself = [](const Resource& each) { return each.name == Statement::itself; };
  statement.is_single_file = is_itself(statement.resources.front());
  if (std::ranges::count_if(statement.resources, is_itself) !=
      (statement.is_single_file ? std::ranges::ssize(statement.resources) : 0)) {
    return refuse_statement("predicate.resources", "names the model itself ('.') and files of it");
  }
  const auto place = [](const Resource& each) { return std::tie(each.name, each.begin); };
  std::ranges::sort(statement.resources, {}, place);
  const auto again = std::ranges::adjacent_find(statement.resources, [&](const Resource& a, const Resource& b) {
    return a.name == b.name && (!statement.is_sharded || b.begin < a.end);
  });
  if (again != statement.resources.end()) {
    return refuse_statement("predicate.resources", fmt::format("names '{}' twice", again->name));
  }
  return statement;
}

bool is_left_out(const Statement& statement, std::string_view path) {
  const auto covers = [path](std::string_view entry) {
    return path == entry || (path.size() > entry.size() && path.starts_with(entry) && path[entry.size()] == '/');
  };
  return std::ranges::any_of(left_out_of_all, covers) || std::ranges::any_of(statement.left_out, covers);
}

namespace {

constexpr std::size_t max_depth = 64;  // nesting depth of folders

// Checks one bundle against one model.
class Check {
 public:
  Check(const Request& request, const std::string& path, unsigned threads, Progress* progress)
      : request_(request), path_(path), threads_(threads), progress_(progress) {}

  VerifyReport report() {
    const auto start = std::chrono::steady_clock::now();
    report_.path = request_.bundle;
    report_.format = "signature";
    if (Status done = apply(); !done) {
      const Error& error = done.error();
      if (is_read_failure(error) || error.code == "signature-trust")
        report_.unreadable = in_file(error, request_.bundle);
      log_.add(without_path(error));
    }
    report_.findings = log_.findings();
    report_.errors = log_.errors();
    report_.warnings = log_.warnings();
    report_.checked =
        fmt::format("model signature by {}, {} of {}", bundle_.method == Method::certificate ? "certificate" : "key",
                    counted(report_.files, "file"), path_);
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  Status apply() {
    MU_ASSIGN(const auto file, RandomAccessFile::open(request_.bundle));
    if (file->file_size() > max_bundle_bytes) {
      return input_error("signature-bundle",
                         fmt::format("has {} bytes; a bundle has at most {}", file->file_size(), max_bundle_bytes));
    }
    std::string text(file->file_size(), '\0');
    MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
    MU_ASSIGN(bundle_, parse_bundle(text, request_.bundle));
    MU_TRY(refuse_old_statement(bundle_.payload));
    MU_ASSIGN(const bool is_good, request_.key ? check_with_key(bundle_, *request_.key, log_)
                                               : check_with_certificate(bundle_, *request_.certificate, log_));
    // An untrusted statement says nothing about the files.
    if (!is_good) return {};
    MU_ASSIGN(statement_, parse_statement(bundle_.payload, "statement"));
    is_folder_ = os::is_folder(path_);
    if (statement_.is_single_file) {
      if (is_folder_) {
        return input_error("signature-file-missing",
                           fmt::format("is the signature of a single file, but {} is a folder", path_));
      }
      for (Resource& resource : statement_.resources) resource.name = base_name_of(path_);
    }
    hash_files();
    if (is_folder_) MU_TRY(look_for_unsigned({}, 0));
    return {};
  }

  void hash_files() {
    std::vector<HashJob> jobs;
    std::vector<const Resource*> resources;
    for (const Resource& resource : statement_.resources) {
      if (signed_.insert(resource.name).second) open_file(resource.name);
      if (current_ == nullptr) continue;
      const u64 size = current_->file_size();
      const u64 end = statement_.is_sharded ? resource.end : size;
      if (resource.begin > covered_) report_unsigned_bytes(covered_, resource.begin);
      covered_ = std::max(covered_, end);
      if (end > size) {
        differs(resource, fmt::format("has {} bytes, at least {} were signed", size, end));
        continue;
      }
      jobs.push_back({statement_.hash, {{catalog_.files.size() - 1, resource.begin, end - resource.begin}}, {}});
      resources.push_back(&resource);
    }
    end_of_file();
    if (progress_ != nullptr) {
      for (const HashJob& job : jobs) progress_->expect(job.ranges[0].bytes);
    }
    const std::vector<Result<std::string>> digests = run_hashes(catalog_, jobs, threads_, progress_);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!digests[i]) {
        log_.add(without_path(digests[i].error(), Scope::data, resources[i]->name));
      } else if (*digests[i] != resources[i]->digest) {
        differs(*resources[i], "is not the file that was signed");
      }
      report_.bytes_read += jobs[i].ranges[0].bytes;
    }
  }

  // Opens the next file of the statement, whose resources are sorted by name.
  void open_file(const std::string& name) {
    end_of_file();
    if (!is_folder_ && name != base_name_of(path_)) {
      log_.error(Scope::container, "signature-file-missing",
                 fmt::format("was signed, but {} is another file", base_name_of(path_)), at_file(name));
      return;
    }
    auto opened = open_in_folder(is_folder_ ? path_ : folder_of(path_), name);
    if (!opened) {
      log_.add({.code = "signature-file-missing",
                .message = "was signed, but cannot be opened: " + opened.error().message,
                .where = at_file(name)});
      return;
    }
    if (!statement_.follows_links) report_links(name);
    current_ = opened->file;
    current_name_ = name;
    catalog_.files.push_back({name, name, opened->file});
    report_.bytes += current_->file_size();
    ++report_.files;
  }

  // Closes a file once all its resources were checked.
  void end_of_file() {
    if (current_ && statement_.is_sharded && covered_ < current_->file_size()) {
      report_unsigned_bytes(covered_, current_->file_size());
    }
    current_ = nullptr;
    covered_ = 0;
  }

  // Shards must cover their file: bytes before, between or after them could be anything.
  void report_unsigned_bytes(u64 begin, u64 end) {
    log_.error(Scope::container, "signature-file",
               fmt::format("bytes {} to {} are in no shard, so they are not signed", begin, end),
               at_file(current_name_));
  }

  void differs(const Resource& resource, std::string message) {
    if (statement_.is_sharded) message += fmt::format(" (bytes {} to {})", resource.begin, resource.end);
    log_.error(Scope::data, "signature-file", std::move(message), at_file(resource.name));
  }

  // Reports a signed file, or a folder on its path, that is a symbolic link.
  void report_links(const std::string& name) {
    if (!is_folder_) return;
    for (std::size_t slash = name.find('/');; slash = name.find('/', slash + 1)) {
      const std::string part = name.substr(0, slash);
      const auto there = os::link_status(path_in(path_, part));
      if (there && there->is_link()) report_link(part);
      if (slash == std::string::npos) return;
    }
  }

  void report_link(const std::string& name) {
    if (!links_.insert(name).second) return;
    log_.error(Scope::container, "signature-link", "is a symbolic link; the signer followed none", at_file(name));
  }

  // Reports files below the folder that no resource names. `below`: "" or a relative path that ends with '/'.
  Status look_for_unsigned(const std::string& below, std::size_t depth) {
    if (depth > max_depth) return input_error("io-open", "has folders nested more than 64 deep", at_file(below));
    MU_ASSIGN(const DirectoryNames names,
              DirectoryNames::read(path_ + "/" + below, [](auto, EntryKind) { return true; }));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string path = below + std::string(names.name(i));
      if (is_left_out(statement_, path)) continue;
      const std::string full = path_in(path_, path);
      const bool is_link_to_folder = names.kind(i) == EntryKind::link && os::is_folder(full);
      if (is_link_to_folder) {
        MU_TRY(look_in_linked_folder(path, depth));
      } else if (names.kind(i) == EntryKind::directory) {
        MU_TRY(look_for_unsigned(path + "/", depth + 1));
      } else if (!signed_.contains(path) && !is_bundle(full)) {
        tell_unsigned(path, full);
      }
    }
    return {};
  }

  // Loaders follow linked folders, so everything in them must be signed. Only a folder on the path of a signed name is
  // walked, so circular links end there.
  Status look_in_linked_folder(const std::string& path, std::size_t depth) {
    const auto first_below = signed_.lower_bound(path + "/");
    const bool has_signed = first_below != signed_.end() && first_below->starts_with(path + "/");
    if (!statement_.follows_links) {
      report_link(path);
    } else if (has_signed) {
      return look_for_unsigned(path + "/", depth + 1);
    } else {
      log_.error(Scope::container, "signature-file-unsigned",
                 "is a link to a folder that is not signed: it came after the signature", at_file(path));
    }
    return {};
  }

  bool is_bundle(const std::string& file) const {
    const auto there = os::status(file), bundle = os::status(request_.bundle);
    return there && bundle && there->is_same_file(*bundle);
  }

  void tell_unsigned(const std::string& path, const std::string& full) {
    // A shard has at least one byte, so an empty file has no shards.
    const auto there = os::status(full);
    if (statement_.is_sharded && there && there->is_file() && there->size == 0) return;
    log_.error(Scope::container, "signature-file-unsigned", "is not signed: it came after the signature",
               at_file(path));
  }

  const Request& request_;
  const std::string& path_;
  unsigned threads_;
  Progress* progress_;
  Bundle bundle_;
  Statement statement_;
  bool is_folder_ = false;
  std::set<std::string, std::less<>> signed_;
  std::set<std::string, std::less<>> links_;  // already reported
  Catalog catalog_;
  std::shared_ptr<RandomAccessFile> current_;
  std::string current_name_;
  u64 covered_ = 0;
  FindingLog log_;
  VerifyReport report_;
};

}  // namespace

VerifyReport check(const Request& request, const std::string& path, unsigned threads, Progress* progress) {
  return Check(request, path, threads, progress).report();
}

}  // namespace modelutils::signature
