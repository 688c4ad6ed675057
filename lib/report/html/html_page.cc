#include "report/html/html_page.h"

#include <fmt/core.h>
#include <zlib.h>

#include <new>

#include "base/escape.h"
#include "base/text.h"
#include "io/hash.h"

namespace modelutils {

namespace {

// embed.cmake generates these bytes from the files in this folder.
constexpr unsigned char page_bytes[] = {
#include "html_page.inc"
};
constexpr unsigned char style_bytes[] = {
#include "html_style.inc"
};
constexpr unsigned char script_bytes[] = {
#include "html_script.inc"
};

template <std::size_t N>
std::string_view text_of(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char*>(bytes), N};
}

// The parts of page.html before, between and after "@data@" and "@blocks@".
struct PageFrame {
  std::string before;
  std::string between;
  std::string after;
};

PageFrame page_frame() {
  const std::string_view style = text_of(style_bytes);
  const std::string_view script = text_of(script_bytes);
  std::string_view rest = text_of(page_bytes);
  PageFrame frame;
  std::string* part = &frame.before;
  while (!rest.empty()) {
    const std::size_t at = rest.find('@');
    *part += rest.substr(0, at);
    if (at == rest.npos) break;
    const std::size_t end = rest.find('@', at + 1);
    const std::string_view name = rest.substr(at + 1, end - at - 1);
    if (name == "policy") *part += content_security_policy(style, script);
    if (name == "style") *part += style;
    if (name == "script") *part += script;
    if (name == "data") part = &frame.between;
    if (name == "blocks") part = &frame.after;
    rest.remove_prefix(end + 1);
  }
  return frame;
}

std::string source_hash(std::string_view text) {
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(text)));
  return "'sha256-" + base64(hasher.digest()) + "'";
}

// Returns the text compressed as a gzip file without name and time, so that equal texts give equal files.
std::string gzipped(std::string_view text) {
  constexpr int as_gzip = 16, most_memory = 9;
  z_stream stream{};
  const int begun =
      deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + as_gzip, most_memory, Z_DEFAULT_STRATEGY);
  if (begun != Z_OK) throw std::bad_alloc();  // the parameters are valid
  std::string out;
  std::string piece(std::size_t{1} << 16, '\0');
  std::string input;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      input = text.substr(0, std::size_t{1} << 20);  // a copy, because zlib wants bytes that may be written to
      text.remove_prefix(input.size());
      stream.next_in = reinterpret_cast<Bytef*>(input.data());
      stream.avail_in = static_cast<uInt>(input.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = deflate(&stream, text.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.append(piece, 0, piece.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace

void EmbeddedJson::append(std::string_view json) {
  for (const char c : json) {
    if (in_text_) {
      in_text(c);
      continue;
    }
    if (c == '\n') {
      at_line_end_ = true;
      continue;
    }
    if (at_line_end_) out_ += ",\n";
    at_line_end_ = false;
    out_ += c;
    in_text_ = c == '"';
    characters_ = 0;
  }
}

void EmbeddedJson::in_text(char c) {
  const bool begins = escape_left_ == 0 && !after_backslash_ && (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  if (begins && c == '"') return end_text();
  characters_ += begins ? 1 : 0;
  const bool is_kept = characters_ <= most_characters;
  if (after_backslash_) {
    after_backslash_ = false;
    escape_left_ = c == 'u' ? 4 : 0;
  } else if (escape_left_ > 0) {
    --escape_left_;
  } else {
    after_backslash_ = c == '\\';
  }
  if (!is_kept) return;
  if (c == '<') {
    out_ += "\\u003c";
  } else if (c == '>') {
    out_ += "\\u003e";
  } else if (c == '&') {
    out_ += "\\u0026";
  } else {
    out_ += c;
  }
}

void EmbeddedJson::end_text() {
  if (characters_ > most_characters) {
    const u64 left = characters_ - most_characters;
    out_ += fmt::format("… ({} more character{})", thousands(left), left == 1 ? "" : "s");
  }
  out_ += '"';
  in_text_ = false;
}

std::string content_security_policy(std::string_view style, std::string_view script) {
  return fmt::format(
      "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'",
      source_hash(style), source_hash(script));
}

Status HtmlPage::begin() {
  if (has_begun_) return {};
  has_begun_ = true;
  return sink_(page_frame().before);
}

Status HtmlPage::add(const std::function<Status(TextOutput& out)>& write) {
  MU_TRY(begin());
  std::string json;
  TextOutput out(json);
  MU_TRY(write(out));
  MU_TRY(out.flush());
  piece_.clear();
  data_.append(json);
  return sink_(piece_);
}

Status HtmlPage::add_packed(std::string_view id, const std::function<Status(TextOutput& out)>& write) {
  std::string json;
  TextOutput out(json);
  MU_TRY(write(out));
  MU_TRY(out.flush());
  std::string text;
  EmbeddedJson(text).append(json);
  blocks_ += fmt::format("<script type=\"application/gzip\" id=\"{}\">{}</script>\n", id, base64(gzipped(text)));
  return {};
}

Status HtmlPage::finish() {
  MU_TRY(begin());
  const PageFrame frame = page_frame();
  return sink_(frame.between + blocks_ + frame.after);
}

}  // namespace modelutils
