// Plans what makes a model visible to another program: which files, under which names, in which folders.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/standard_output.h"
#include "store/stores.h"

namespace modelutils {

/// The place where links to a model are made: the store of a program, or a folder.
struct LinkTarget {
  std::optional<StoreKind> store;  ///< nullopt: a folder
  std::string folder = {};
};
/// "lmstudio", "llama.cpp", "ollama", or a folder.
LinkTarget link_target(const std::string& text);

/// The part that a file plays in a model.
enum class LinkRole : u8 { model, projector, adapter, draft, other };

struct LinkFile {
  LinkRole role = LinkRole::model;
  std::string from;
  std::string name;  ///< that the file gets; for Ollama, that of its blob
};

/// The files of a model, and what its source says about it.
struct LinkSource {
  std::string path;              ///< file, folder or manifest
  std::string publisher, model;  ///< for PUBLISHER/MODEL
  bool is_directory = false;     ///< safetensors with config.json
  bool is_manifest = false;
  std::vector<LinkFile> files;  ///< the model's own first
};

/// Finds the files of a model: all parts, the projectors in its folder or manifest, its adapters. `name` is a path or a
/// name in a store. Errors: those of resolve_store_name() and of opening the model; "link-source" (several models, an
/// incomplete model, a file of no known format).
Result<LinkSource> link_source(const std::string& name);

struct LinkPlan {
  std::vector<std::string> folders;  ///< to be created if missing, outer ones first
  std::vector<LinkFile> files;       ///< `name` is the whole path
  std::string reference;             ///< a file to be written last; empty for none
  std::string reference_text;
  std::string modelfile;           ///< for Ollama
  bool names_are_digests = false;  ///< a file of that name and size is the same file
};

struct LinkRequest {
  LinkTarget target;
  std::string as;  ///< PUBLISHER/MODEL of the link; if empty, the source's
  Progress* progress = nullptr;
};

/// Plans the links. For Ollama, hashes the files, because a blob's name is its SHA-256. Creates nothing. Errors (kind
/// input): "link-unsupported" (the program does not read such a model); (kind usage): `as` is not PUBLISHER/MODEL;
/// (kind output) "link-no-store".
Result<LinkPlan> plan_link(const LinkSource& source, const LinkRequest& request);

/// Returns the text of a Modelfile: FROM, ADAPTER, the parameters of a manifest, else those of the GGUF's keys and the
/// tokens that end a generation; TEMPLATE and SYSTEM of a manifest only.
Result<std::string> modelfile_of(const LinkSource& source, const std::vector<LinkFile>& blobs);

}  // namespace modelutils
