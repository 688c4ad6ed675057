#include "verify/signature/statement.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "json/reader.h"

namespace modelutils::signature {

namespace {

constexpr std::string_view old_type = "https://model_signing/Digests/v0.1";
constexpr std::array<std::string_view, 4> left_out_of_all = {".git", ".gitignore", ".gitattributes", ".github"};

tl::unexpected<Error> refuse_statement(std::string_view field, std::string message) {
  return input_error("signature-statement", std::move(message), fmt::format("field '{}'", field));
}

// True for a relative path without empty, "." or ".." parts: OMS's canonical form.
bool is_canonical(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
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
  if (!is_canonical(name) && name != Statement::itself)
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

}  // namespace modelutils::signature
