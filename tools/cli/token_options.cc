#include "cli/token_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "cli/read_text.h"

namespace modelutils::cli {

namespace {

Flag token_flag(std::string_view name, std::string_view value_name, std::string_view help) {
  return {
      .names = std::string(name), .value_name = std::string(value_name), .help = std::string(help), .group = "Tokens"};
}

// Returns the text to tokenize: the content of FILE for "@FILE", standard input for "-", else the argument itself.
Result<std::string> text_to_cut(const std::string& argument, const std::vector<std::string>& paths) {
  const bool is_stdin = argument == "-";
  if (!is_stdin && !argument.starts_with('@')) return argument;
  if (is_stdin && std::find(paths.begin(), paths.end(), "-") != paths.end()) {
    return usage_error("--tokenize - and a model on standard input cannot be combined");
  }
  return read_text(is_stdin ? argument : argument.substr(1));
}

Result<std::vector<u32>> ids_of(std::string_view list) {
  std::vector<u32> ids;
  while (!list.empty()) {
    const std::size_t begin = list.find_first_not_of(", \t\n");
    if (begin == std::string_view::npos) break;
    list.remove_prefix(begin);
    const std::string_view one = list.substr(0, list.find_first_of(", \t\n"));
    u32 id = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), id);
    if (error != std::errc() || end != one.data() + one.size()) {
      return usage_error(fmt::format("--detokenize: '{}' is not a token id; give numbers separated by commas", one));
    }
    ids.push_back(id);
    list.remove_prefix(one.size());
  }
  return ids;
}

}  // namespace

void add_token_flags(Command& command, DumpArguments& arguments) {
  command.add(token_flag("--tokens", "WHAT",
                         "List tokens: special, all, an id, a glob over texts, or text:TEXT for exactly this text "
                         "(text:510); may be repeated"),
              arguments.tokens);
  command.add(token_flag("--tokenize", "TEXT",
                         "Tokenise text as llama.cpp does, one id and piece per line; @FILE or - reads the text; with "
                         "--render, - is the prompt"),
              arguments.tokenize);
  command.add(token_flag("--add-special", "", "With --tokenize: add the tokens that begin and end a text"),
              arguments.add_special);
  command.add(
      token_flag("--parse-special", "", "With --tokenize: recognise special tokens such as <|eot_id|> in the text"),
      arguments.parse_special);
  command.add(token_flag("--detokenize", "IDS", "Print the text of tokens, given as ids separated by commas"),
              arguments.detokenize);
}

Result<std::optional<TokenRequest>> token_request(const DumpArguments& arguments) {
  if ((arguments.add_special || arguments.parse_special) && !arguments.tokenize) {
    return usage_error(fmt::format("{} needs --tokenize", arguments.add_special ? "--add-special" : "--parse-special"));
  }
  TokenRequest request;
  request.list = arguments.tokens;
  request.encode = {arguments.add_special, arguments.parse_special, false};
  if (arguments.tokenize && arguments.render.is_asked_for()) {
    if (*arguments.tokenize != "-") {
      return usage_error("with --render, only the prompt can be tokenised: --tokenize -");
    }
    request.encode.parse_special = request.encode.is_prompt = true;
    request.text.emplace();
  } else if (arguments.tokenize) {
    MU_ASSIGN(request.text, text_to_cut(*arguments.tokenize, arguments.paths));
  }
  if (arguments.detokenize) {
    MU_ASSIGN(request.ids, ids_of(*arguments.detokenize));
  }
  const bool any = !request.list.empty() || request.text || request.ids;
  return any ? std::optional(std::move(request)) : std::nullopt;
}

}  // namespace modelutils::cli
