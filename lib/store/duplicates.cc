#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "base/os/files.h"
#include "base/parallel.h"
#include "io/hash.h"
#include "io/random_access_file.h"
#include "model/download_record.h"
#include "store/store_list.h"

namespace modelutils {

namespace {

constexpr std::size_t sample_bytes = 256 * 1024;  // at the beginning and at the end of a file
constexpr std::size_t chunk_bytes = 256 * 1024;

// A file on the disk, whatever its names.
struct Content {
  std::set<std::string> paths, models;
  u64 bytes = 0;
  std::string sha256 = {};
  std::string key = {};  // digest of the sample, then of all bytes; empty if it could not be read
};

using Identity = std::pair<u64, u64>;  // device, inode

std::map<Identity, Content> contents_of(const StoreList& list) {
  std::map<Identity, Content> contents;
  DownloadRecords records;
  for (const StoredModel& model : list.models) {
    for (const StoredFile& file : model.described.files) {
      const auto there = os::status(file.path);
      if (!there || !there->is_file() || there->size == 0) continue;
      Content& content = contents[{there->device, there->inode}];
      const bool is_new = content.paths.empty();
      content.paths.insert(file.path);
      content.models.insert(model.name);
      content.bytes = there->size;
      // A store's checksum counts only if the size is the store's, too.
      if (!file.sha256.empty() && file.bytes == there->size) content.sha256 = file.sha256;
      if (!is_new || !content.sha256.empty()) continue;
      const DownloadRecord record = records.find(file.path);
      const bool is_whole = !record.bytes || *record.bytes == there->size;
      if (record.expected && record.expected->algorithm == HashAlgorithm::sha256 && is_whole && !record.is_outside) {
        content.sha256 = record.expected->hex;
      }
    }
  }
  return contents;
}

// Hashes the bytes of a file, or only those at its beginning and end.
Result<std::string> hashed(const Content& content, bool only_sample, Progress* progress) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(*content.paths.begin()));
  Hasher hasher(HashAlgorithm::xxh3);
  std::vector<std::byte> buffer(std::max(sample_bytes, chunk_bytes));
  const u64 size = file->file_size();
  const auto add = [&](u64 from, u64 end) -> Status {
    for (u64 at = from; at < end;) {
      const MutableBytes bytes(buffer.data(), static_cast<std::size_t>(std::min<u64>(buffer.size(), end - at)));
      MU_TRY(file->read_exact(at, bytes));
      hasher.update(bytes);
      at += bytes.size();
      if (progress != nullptr) progress->advance(bytes.size());
    }
    return {};
  };
  if (only_sample && size > 2 * sample_bytes) {
    MU_TRY(add(0, sample_bytes));
    MU_TRY(add(size - sample_bytes, size));
  } else {
    MU_TRY(add(0, size));
  }
  return hasher.hex_digest();
}

class Finder {
 public:
  Finder(bool hash, unsigned threads, Progress* progress) : hash_(hash), threads_(threads), progress_(progress) {}

  Duplicates run(const StoreList& list) {
    std::map<Identity, Content> contents = contents_of(list);
    std::map<u64, std::vector<Content*>> by_size;
    for (auto& [identity, content] : contents) by_size[content.bytes].push_back(&content);
    std::vector<std::vector<Content*>> undecided;
    for (auto& [bytes, same] : by_size) {
      if (same.size() < 2) continue;
      const bool all_known = std::ranges::none_of(same, [](const Content* each) { return each->sha256.empty(); });
      if (all_known) {
        split(same, Likeness::sha256);
      } else {
        undecided.push_back(std::move(same));
      }
    }
    read_keys(undecided, true);
    std::vector<std::vector<Content*>> alike;
    for (const std::vector<Content*>& same : undecided) {
      for (std::vector<Content*>& group : grouped(same)) alike.push_back(std::move(group));
    }
    if (hash_) read_keys(alike, false);
    for (std::vector<Content*>& group : alike) judge(std::move(group));
    std::ranges::stable_sort(result_.groups, [](const DuplicateGroup& a, const DuplicateGroup& b) {
      return a.saves() != b.saves() ? a.saves() > b.saves() : a.files[0].paths[0] < b.files[0].paths[0];
    });
    return std::move(result_);
  }

 private:
  // Reads the files of groups with several: their samples, or all bytes.
  void read_keys(const std::vector<std::vector<Content*>>& groups, bool only_sample) {
    std::vector<Content*> files;
    for (const auto& group : groups) {
      for (Content* content : group) {
        if (!only_sample && is_decided(group)) break;
        files.push_back(content);
        if (progress_ != nullptr) progress_->expect(only_sample ? 2 * sample_bytes : content->bytes);
      }
    }
    const Status done = parallel_for(files.size(), threads_, [&](u64 item, unsigned) -> Status {
      Content& content = *files[static_cast<std::size_t>(item)];
      auto digest = hashed(content, only_sample, progress_);
      content.key = digest ? std::move(*digest) : std::string();
      if (digest) return {};
      const std::lock_guard lock(mutex_);
      result_.notes.push_back({*content.paths.begin(), "is left out: " + digest.error().message});
      return {};
    });
    (void)done;  // failures are notes
  }

  static bool is_decided(const std::vector<Content*>& group) {
    return std::ranges::none_of(group, [](const Content* each) { return each->sha256.empty(); });
  }

  // Groups with the same key and two files or more.
  static std::vector<std::vector<Content*>> grouped(const std::vector<Content*>& same) {
    std::map<std::string, std::vector<Content*>> by_key;
    for (Content* content : same) {
      if (!content->key.empty()) by_key[content->key].push_back(content);
    }
    std::vector<std::vector<Content*>> groups;
    for (auto& [key, group] : by_key) {
      if (group.size() > 1) groups.push_back(std::move(group));
    }
    return groups;
  }

  // Reports a group whose sizes and samples are equal.
  void judge(std::vector<Content*> group) {
    if (is_decided(group)) return split(group, Likeness::sha256);
    if (hash_) {
      for (const std::vector<Content*>& same : grouped(group)) report(same, Likeness::xxh3, same[0]->key);
      return;
    }
    // If known checksums differ, equal samples do not prove equal files, so files without a checksum are left out.
    std::set<std::string> known;
    for (const Content* content : group) {
      if (!content->sha256.empty()) known.insert(content->sha256);
    }
    if (known.size() < 2) return report(group, Likeness::header, {});
    std::erase_if(group, [](const Content* each) { return each->sha256.empty(); });
    split(group, Likeness::sha256);
  }

  void split(const std::vector<Content*>& same, Likeness likeness) {
    std::map<std::string, std::vector<Content*>> by_digest;
    for (Content* content : same) by_digest[content->sha256].push_back(content);
    for (const auto& [digest, group] : by_digest) {
      if (group.size() > 1) report(group, likeness, digest);
    }
  }

  void report(const std::vector<Content*>& same, Likeness likeness, std::string digest) {
    DuplicateGroup group{.likeness = likeness, .digest = std::move(digest), .bytes = same[0]->bytes, .files = {}};
    for (const Content* content : same) {
      group.files.push_back(
          {{content->paths.begin(), content->paths.end()}, {content->models.begin(), content->models.end()}});
    }
    std::ranges::sort(group.files, {}, [](const DuplicateFile& file) { return file.paths[0]; });
    result_.groups.push_back(std::move(group));
  }

  const bool hash_;
  const unsigned threads_;
  Progress* const progress_;
  std::mutex mutex_;
  Duplicates result_;
};

}  // namespace

std::string_view likeness_name(Likeness likeness) {
  switch (likeness) {
    case Likeness::sha256: return "sha256";
    case Likeness::xxh3: return "xxh3";
    case Likeness::header: break;
  }
  return "header";
}

u64 Duplicates::saves() const {
  u64 sum = 0;
  for (const DuplicateGroup& group : groups) sum += group.saves();
  return sum;
}

Duplicates find_duplicates(const StoreList& list, bool hash, unsigned threads, Progress* progress) {
  return Finder(hash, threads, progress).run(list);
}

}  // namespace modelutils
