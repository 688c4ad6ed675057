#include "report/html/diff_page.h"

#include "report/diff_parts.h"
#include "report/grid_json.h"
#include "report/model_diff.h"

namespace modelutils {

namespace {

std::string types_text(const TensorPair& pair) {
  const std::string a(pair.a->type), b(pair.b->type);
  return pair.is_retyped() ? a + " → " + b : a;
}

std::string error_text(const Measurement& measured) {
  if (!measured.problem.empty()) return "?";
  return measured.equal_values() ? "=" : rms_text(measured.sums.rms());
}

// Writes one grid: a title and the grid members of a card.
void write_page_grid(json::Writer& json, std::string_view shows, std::span<const GridTensor> tensors) {
  const auto in_object = json.object();
  json.member("shows", shows);
  write_grid_members(json, tensors);
}

}  // namespace

Status write_diff_page(HtmlPage& page, const ModelDiff& diff, std::string_view program) {
  std::vector<GridTensor> types, errors;
  for (std::size_t i = 0; i < diff.tensors.same_shape.size(); ++i) {
    const TensorPair& pair = diff.tensors.same_shape[i];
    types.push_back({pair.a->name, types_text(pair)});
    if (i < diff.measured.size()) errors.push_back({pair.a->name, error_text(diff.measured[i])});
  }
  MU_TRY(page.add([&](TextOutput& out) -> Status {
    json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
    {
      const auto in_object = json.object();
      json.member("schema", "page/1");
      json.member("program", program);
      json.member("version", MODELUTILS_VERSION);
      const auto in_grids = json.array("grids");
      write_page_grid(json, "types", types);
      if (!errors.empty()) write_page_grid(json, "errors", errors);
    }
    json.end_line();
    json.flush();
    return {};
  }));
  MU_TRY(page.add([&](TextOutput& out) { return write_diff_json(out, diff); }));
  return page.finish();
}

}  // namespace modelutils
