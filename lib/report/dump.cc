#include "report/dump.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/key_facts.h"
#include "base/escape.h"
#include "base/not_found.h"
#include "base/text.h"
#include "json/writer.h"
#include "report/fit_report.h"
#include "report/key_text.h"
#include "report/values.h"

namespace modelutils {

namespace {

Status dump_value(TextOutput& out, ListingSource& source, const std::string& path, const DumpRequest& request) {
  const std::optional<ListedValue> value = source.find_value(*request.value);
  if (!value) {
    const EachName each_name = [&](const auto& visit) { source.each_key_name(true, visit); };
    return input_error("key-not-found", "there is no such key" + name_hint("key", *request.value, each_name),
                       at_key(*request.value), {}, path);
  }
  return write_value(out, *value, request.options.for_terminal);
}

struct WantedTensor {
  const Tensor* tensor;
  std::optional<ValueSlice> slice;
};

Result<const Tensor*> readable(const ListingSource& source, const std::string& path, const std::string& name) {
  const Tensor* tensor = source.find_tensor(name);
  if (tensor != nullptr && tensor->is_readable()) return tensor;
  const EachName each_name = [&](const auto& visit) { source.each_tensor_name(visit); };
  return input_error("tensor-not-found",
                     tensor != nullptr ? std::string(problem_text(tensor->unreadable))
                                       : "there is no such tensor" + name_hint("tensor", name, each_name),
                     at_tensor(name), {}, path);
}

// Finds the tensor "NAME", or the slice "NAME[SLICE]" if no tensor has the whole text as its name.
Result<WantedTensor> wanted(const ListingSource& source, const std::string& path, const std::string& text) {
  const std::optional<SlicedName> sliced = sliced_name(text);
  if (!sliced || source.find_tensor(text) != nullptr) {
    MU_ASSIGN(const Tensor* const tensor, readable(source, path, text));
    return WantedTensor{tensor, std::nullopt};
  }
  MU_ASSIGN(const Tensor* const tensor, readable(source, path, std::string(sliced->name)));
  MU_ASSIGN(ValueSlice slice, ValueSlice::parse(sliced->slice, source.model(), *tensor));
  return WantedTensor{tensor, std::move(slice)};
}

// Prints the keys known for every file and for the model's architecture.
void dump_known_keys(TextOutput& out, const Listing& listing) {
  if (listing.format != Listing::Format::gguf) return;
  for (const arch::KeyGroup& group : arch::key_groups()) {
    for (const arch::KeyFacts& facts : group.rows) {
      if (facts.name.find('#') != std::string_view::npos) continue;
      const bool is_of_architecture = facts.name.starts_with('*');
      if (is_of_architecture) out << escape(listing.facts.architecture) << facts.name.substr(1) << "\n";
      if (!is_of_architecture) out << facts.name << "\n";
    }
  }
}

void dump_names(TextOutput& out, const Listing& listing, DumpRequest::Names names) {
  if (names == DumpRequest::Names::keys) {
    for (const ListedKey& key : listing.keys) out << escape(key.name) << "\n";
    for (const std::string& key : listing.config_keys) out << escape(key) << "\n";
  } else if (names == DumpRequest::Names::known_keys) {
    dump_known_keys(out, listing);
  } else {
    for (const ListedTensor& tensor : listing.tensors) out << escape(tensor.name()) << "\n";
  }
}

Status dump_statistics(TextOutput& out, const ListingSource& source, const Listing& listing,
                       const std::string& shown_path, const DumpRequest& request) {
  MU_ASSIGN(const std::vector<TensorStatistics> rows, statistics_of(source.model(), listing.tensors, request.progress));
  if (!request.json && !request.csv && !request.options.first) out << "\n";
  write_statistics(out, rows,
                   {request.json, request.csv, request.options.first, shown_path, request.options.width,
                    Style(request.options.color)});
  return {};
}

}  // namespace

Status dump_model(TextOutput& out, ListingSource& source, const std::string& path, const DumpRequest& request) {
  if (request.value) return dump_value(out, source, path, request);
  // If several models are shown, each must be identified.
  const std::string shown_path = request.options.several ? path : std::string();
  if (request.values) {
    MU_ASSIGN(const WantedTensor tensor, wanted(source, path, *request.values));
    if (!request.raw && !tensor.tensor->type) {
      return input_error("tensor-no-decoder", no_decoder_text(source.model().type_text(*tensor.tensor)),
                         at_tensor(tensor.tensor->name), {}, path);
    }
    if (tensor.slice && request.raw) return usage_error("--raw and a part of a tensor cannot be combined");
    return write_values(out, source.model(), *tensor.tensor,
                        {request.count, request.json, request.raw, shown_path, tensor.slice});
  }
  const Listing listing = source.list(request.select);
  if (request.names != DumpRequest::Names::none) {
    dump_names(out, listing, request.names);
    return {};
  }
  if (request.statistics) return dump_statistics(out, source, listing, shown_path, request);
  const ListingForm& form = request.form != nullptr ? *request.form : listing_forms().front();
  if (request.json) return form.write_json(out, listing, request.options);
  if (form.is_for_people && !request.options.first) out << "\n";
  return form.write(out, listing, request.options);
}

Error statistics_of_pipe() {
  return {
      .code = "io-pipe",
      .message = "--stats reads the data of tensors, of which a pipe keeps only the header; write it to a file first",
      .file = "standard input"};
}

void dump_fit(TextOutput& out, const memory::FitReport& report, const std::string& path, const DumpRequest& request) {
  if (request.json) return write_fit_json(out, path, report);
  if (!request.options.first) out << "\n";
  write_fit_text(out, path, report, {request.fit_layers, request.options.color, request.options.width});
}

Status dump_prompt(TextOutput& out, const ChatSource& chat, const TokenizerKeys& keys, const std::string& path,
                   const DumpRequest& request) {
  MU_ASSIGN(std::string prompt, rendered_prompt(chat, *request.prompt));
  if (request.tokens) {
    MU_ASSIGN(tokenizer::EncodeKeys read, keys());
    DumpRequest with_text = request;
    with_text.tokens->text = std::move(prompt);
    return dump_tokens(out, std::move(read), path, with_text);
  }
  if (request.options.for_terminal) return write_value(out, std::string_view(prompt), true);
  out << prompt;
  return {};
}

Status dump_tokens(TextOutput& out, tokenizer::EncodeKeys keys, const std::string& path, const DumpRequest& request) {
  const ListingOptions& options = request.options;
  return write_tokens(out, std::move(keys), *request.tokens,
                      {request.json, options.for_terminal, options.first, options.width, Style(options.color),
                       options.several ? path : std::string()});
}

void write_folder(TextOutput& out, std::span<const FolderModel> models, const ListingOptions& options) {
  constexpr std::size_t least_path = 24;
  const auto text_or_unknown = [](const std::string& text) { return text.empty() ? "?" : escape(text, 32); };
  const RowSource row = [&](std::size_t number, std::vector<Cell>& cells) {
    const FolderModel& model = models[number];
    cells = {{escape(model.path), Paint::title},
             {text_or_unknown(model.architecture), Paint::plain},
             {model.parameters ? count_text(*model.parameters) : "?", Paint::number},
             {text_or_unknown(model.type), Paint::plain},
             {byte_text(model.bytes), Paint::number}};
  };
  const std::vector<Column> columns = {{"model", Align::left, least_path, 0, 0, true},
                                       {"architecture", Align::left, 0, 3},
                                       {"params", Align::right, 0, 2},
                                       {"type", Align::left, 0, 1},
                                       {"size", Align::right}};
  write_table(out, columns, models.size(), row, {options.width, 0, false, Style(options.color)});
}

namespace {

std::string lines(const std::vector<RepositoryEntry>& entries) {
  std::string text;
  for (const RepositoryEntry& entry : entries) {
    text += fmt::format("  {:>8}  {}", byte_text(entry.bytes), escape(entry.name));
    if (entry.files > 1) text += fmt::format("  ({} files)", entry.files);
    if (entry.fits) text += *entry.fits ? "  fits" : "  does not fit";
    text += "\n";
  }
  return text;
}

void write_entries(json::Writer& out, std::string_view name, const std::vector<RepositoryEntry>& entries) {
  const auto in_array = out.array(name);
  for (const RepositoryEntry& entry : entries) {
    const auto in_object = out.object();
    out.member("name", entry.name);
    out.member("files", entry.files);
    out.member("bytes", entry.bytes);
    out.member("fits", entry.fits);
  }
}

}  // namespace

std::string repository_text(const Repository& repository) {
  std::string text = escape(repository.path);
  if (!repository.commit.empty()) text += fmt::format(" at {}", repository.commit);
  text += fmt::format("\n\nGGUF models {}\n{}", repository.models.size(), lines(repository.models));
  if (!repository.others.empty()) {
    text += fmt::format("\nOther files {}\n{}", repository.others.size(), lines(repository.others));
  }
  if (std::ranges::any_of(repository.models, [](const RepositoryEntry& entry) { return entry.fits.has_value(); })) {
    text +=
        "\nWhether a model fits is estimated from its size and the smallest model's header. gguf-dump --fit MODEL "
        "reads its own.\n";
  }
  if (!repository.models.empty()) {
    text +=
        fmt::format("\nTo see what is in one: gguf-dump {}\n", escape(repository.path_of(repository.models.front())));
  }
  return text;
}

std::string repository_json(const Repository& repository) {
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("schema", "repository/1");
    out.member("path", repository.path);
    out.text_or_null("commit", repository.commit);
    write_entries(out, "models", repository.models);
    write_entries(out, "others", repository.others);
  }
  return out.text() + "\n";
}

}  // namespace modelutils
