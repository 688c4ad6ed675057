#include "arch/expected_tensors.h"

namespace modelutils::arch {

namespace {

class Lister {
 public:
  Lister(const Family* family, const Sizes& sizes) : family_(family), sizes_(sizes) {}

  std::vector<ExpectedTensor> list() {
    for (const Tensor& row : family_->first_tensors) add(row, false, 0);
    const u64 layers = sizes_.get(symbol::layers);
    for (u64 layer = 0; layer < layers; ++layer) {
      for (const std::span<const Tensor> group : family_->layer_tensors) {
        for (const Tensor& row : group) add(row, true, layer);
      }
    }
    for (const Tensor& row : family_->last_tensors) add(row, false, 0);
    return std::move(tensors_);
  }

  std::vector<ExpectedTensor> list_row(const Tensor& row, u64 layer) {
    add(row, true, layer);
    return std::move(tensors_);
  }

 private:
  void add(const Tensor& row, bool in_layer, u64 layer) {
    if (!key_of_numbers(row).empty() || !holds(row.when, sizes_, layer)) return;
    std::vector<u64> ne = evaluate_shape(row.ne, sizes_, layer).value_or(std::vector<u64>{});
    Need need = row.need;
    if (row.name == "output" && !in_layer) need = need_of_head();
    if (need != Need::absent) add_side(row, in_layer, layer, Side::weight, ne, need);
    if (row.bias == Need::absent) return;
    if (ne.size() > 1) ne.erase(ne.begin());
    add_side(row, in_layer, layer, Side::bias, std::move(ne), row.bias);
  }

  void add_side(const Tensor& row, bool in_layer, u64 layer, Side side, std::vector<u64> ne, Need need) {
    const bool is_vector = side == Side::bias || dimensions_of(row.ne).size() == 1;
    tensors_.push_back({gguf_name(row, in_layer, layer, side), std::move(ne), need, is_vector || row.f32, &row, side,
                        in_layer, layer});
  }

  Need need_of_head() const {
    switch (family_->head) {
      case OutputHead::optional: return Need::optional;
      case OutputHead::always: return Need::required;
      case OutputHead::never: break;
    }
    return Need::absent;
  }

  const Family* family_;  // for tensors outside the layers
  const Sizes& sizes_;
  std::vector<ExpectedTensor> tensors_;
};

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const Family& family, const Sizes& sizes) {
  return Lister(&family, sizes).list();
}

void add_expected_tensors(const Tensor& row, const Sizes& sizes, u64 layer, std::vector<ExpectedTensor>& tensors) {
  for (ExpectedTensor& one : Lister(nullptr, sizes).list_row(row, layer)) tensors.push_back(std::move(one));
}

void set_marks(const Family& family, Sizes& sizes, const RowsOfTensor& rows_of) {
  for (const Mark& mark : family.marks) {
    std::vector<const Tensor*> own, telling;
    const bool may_lack = has_name(family.loads_without, tensor_of(mark));
    for (const std::span<const Tensor> group : family.layer_tensors) {
      for (const Tensor& row : group) {
        if (row.name == tensor_of(mark)) own.push_back(&row);
        if (may_lack && row.when == mark.symbol && !row.name.starts_with('@')) telling.push_back(&row);
      }
    }
    std::vector<u64> values;
    for (u64 layer = 0; layer < sizes.get(symbol::layers); ++layer) {
      const auto rows = [&](const std::vector<const Tensor*>& of) -> std::optional<u64> {
        for (const Tensor* row : of) {
          if (const auto found = rows_of(gguf_name(*row, true, layer, Side::weight))) return found;
        }
        return std::nullopt;
      };
      const std::optional<u64> found = rows(own);
      values.push_back(!found && rows(telling) ? 1 : value_of(mark, found, sizes, layer));
    }
    sizes.set_layers(mark.symbol, std::move(values));
  }
}

std::string_view tensor_of(const Mark& mark) {
  return mark.tensor.substr(0, mark.tensor.find('/'));
}

u64 value_of(const Mark& mark, std::optional<u64> rows, const Sizes& sizes, u64 layer) {
  const std::size_t slash = mark.tensor.find('/');
  if (!rows) return 0;
  if (slash == std::string_view::npos) return 1;
  const u64 per = evaluate(mark.tensor.substr(slash + 1), sizes, layer).value_or(0);
  return per > 0 ? *rows / per : 0;
}

}  // namespace modelutils::arch
