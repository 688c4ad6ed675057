// Opens every path of the command line and calls the whole API on it, with arguments in and out of range. (A folder
// that is not a model is skipped; the caller lists its files.) Does not judge the contents: no call may crash, hang or
// contradict another. Prints the number of paths that were models.
#include <stdlib.h>

#include "check.h"

static void walk_value(const mu_model* model, uint64_t index, const mu_metadata* info) {
  int32_t truth = 0;
  uint64_t natural = 0;
  int64_t integer = 0;
  double number = 0;
  const char* text = NULL;
  uint64_t size = 0;
  const mu_status as_string = mu_metadata_string(model, index, &text, &size);
  CHECK((as_string == MU_OK) == (info->type == MU_VALUE_STRING));
  if (as_string == MU_OK) CHECK(text[size] == '\0');
  CHECK((mu_metadata_bool(model, index, &truth) == MU_OK) == (info->type == MU_VALUE_BOOL));
  CHECK((mu_metadata_f64(model, index, &number) == MU_OK) ==
        (info->type == MU_VALUE_F32 || info->type == MU_VALUE_F64));
  const mu_status as_natural = mu_metadata_u64(model, index, &natural);
  const mu_status as_integer = mu_metadata_i64(model, index, &integer);
  CHECK((as_natural == MU_ERROR_TYPE) == (as_integer == MU_ERROR_TYPE));
  if (as_natural == MU_OK && as_integer == MU_OK) CHECK((uint64_t)integer == natural);
}

static void walk_array(const mu_model* model, uint64_t index, const mu_metadata* info) {
  enum { most = 1000 };
  float f32[most];
  double f64[most];
  uint64_t u64[most];
  int64_t i64[most];
  const char* text = NULL;
  uint64_t size = 0;
  const uint64_t count = info->count < most ? info->count : most;
  const uint64_t first = info->count - count;
  const int is_text = info->element_type == MU_VALUE_STRING;
  const int is_number = !is_text && info->element_type != MU_VALUE_ARRAY;
  CHECK((mu_array_f32(model, index, first, count, f32) == MU_OK) == is_number);
  CHECK((mu_array_f64(model, index, first, count, f64) == MU_OK) == is_number);
  CHECK(mu_array_f64(model, index, UINT64_MAX, 2, f64) != MU_OK);
  CHECK(mu_array_f64(model, index, info->count, 1, f64) != MU_OK);
  (void)mu_array_u64(model, index, first, count, u64);
  (void)mu_array_i64(model, index, first, count, i64);
  for (uint64_t i = 0; i < count; ++i) {
    const mu_status status = mu_array_string(model, index, first + i, &text, &size);
    CHECK((status == MU_OK) == is_text);
    if (status == MU_OK) CHECK(text[size] == '\0');
  }
  CHECK(mu_array_string(model, index, info->count, &text, &size) != MU_OK);
}

static void walk_metadata(const mu_model* model) {
  const uint64_t count = mu_metadata_count(model);
  for (uint64_t i = 0; i < count; ++i) {
    mu_metadata info;
    info.struct_size = sizeof info;
    GIVES(MU_OK, mu_metadata_info(model, i, &info));
    CHECK(info.key[info.key_size] == '\0');
    uint64_t found = 0;
    if (strlen(info.key) == info.key_size) {
      GIVES(MU_OK, mu_metadata_find(model, info.key, &found));
      CHECK(found <= i);
    }
    walk_value(model, i, &info);
    if (info.type == MU_VALUE_ARRAY) walk_array(model, i, &info);
  }
  mu_metadata beyond;
  beyond.struct_size = sizeof beyond;
  GIVES(MU_ERROR_RANGE, mu_metadata_info(model, count, &beyond));
}

static void walk_bytes(const mu_model* model, uint64_t index, const mu_tensor* info) {
  const void* data = NULL;
  uint64_t bytes = info->bytes;
  unsigned char* copy = malloc(bytes + 1);
  if (copy == NULL) return;
  GIVES(MU_OK, mu_tensor_read(model, index, 0, copy, bytes));
  if (mu_tensor_data(model, index, &data, &bytes) == MU_OK) {
    CHECK(data != NULL && bytes == info->bytes);
    CHECK(data == NULL || memcmp(copy, data, bytes) == 0);
  } else {  // a view with strides
    CHECK(strcmp(mu_last_error_code(), "io-map") == 0);
  }
  GIVES(MU_ERROR_RANGE, mu_tensor_read(model, index, 1, copy, bytes));
  GIVES(MU_ERROR_RANGE, mu_tensor_read(model, index, UINT64_MAX, copy, 2));
  free(copy);
}

static void walk_rows(const mu_model* model, uint64_t index, const mu_tensor* info) {
  GIVES(MU_ERROR_RANGE, mu_tensor_dequantize(model, index, info->rows, 1, NULL, 0));
  GIVES(MU_ERROR_RANGE, mu_tensor_dequantize(model, index, UINT64_MAX, 2, NULL, 0));
  GIVES(MU_OK, mu_tensor_dequantize(model, index, info->rows, 0, NULL, 0));
  if (info->rows == 0 || info->columns > 1000000) return;
  if (info->columns > 0) {
    float one = 0;
    GIVES(MU_ERROR_BUFFER, mu_tensor_dequantize(model, index, 0, 1, &one, 0));
  }
  const uint64_t rows = info->rows < 100 ? info->rows : 100;
  float* values = malloc((rows * info->columns + 1) * sizeof *values);
  if (values == NULL) return;
  const mu_status status = mu_tensor_dequantize(model, index, info->rows - rows, rows, values, rows * info->columns);
  CHECK(status == MU_OK || status == MU_ERROR_UNSUPPORTED);
  free(values);
}

static void walk_packing(const mu_model* model, uint64_t index, const mu_tensor* info) {
  mu_packed layout;
  layout.struct_size = sizeof layout;
  const uint64_t twice[2] = {index, index};
  if (info->packing == MU_PACKING_NONE) {
    CHECK(mu_pack_layout(model, twice, 1, 0, &layout) == MU_ERROR_TYPE);
    CHECK(info->scales == MU_NONE && info->biases == MU_NONE);
    return;
  }
  for (uint32_t flags = 0; flags <= MU_PACK_BF16_TO_F16; ++flags) {
    for (uint64_t count = 1; count <= 2; ++count) {
      if (mu_pack_layout(model, twice, count, flags, &layout) != MU_OK) {
        CHECK(mu_last_error_status() == MU_ERROR_ARGUMENT);
        continue;
      }
      CHECK(layout.rows == count * info->rows && layout.columns == info->columns);
      CHECK(layout.biases_offset + layout.biases_bytes == layout.total_bytes);
      unsigned char* buffer = malloc(layout.total_bytes + 1);
      if (buffer == NULL) return;
      uint64_t inexact = 0;
      if (layout.total_bytes > 0)
        GIVES(MU_ERROR_BUFFER, mu_pack(model, twice, count, flags, buffer, layout.total_bytes - 1, &inexact));
      GIVES(MU_OK, mu_pack(model, twice, count, flags, buffer, layout.total_bytes, &inexact));
      free(buffer);
    }
  }
}

static void walk_tensors(const mu_model* model) {
  const uint64_t count = mu_tensor_count(model);
  mu_tensor info;
  info.struct_size = sizeof info;
  for (uint64_t i = 0; i < count; ++i) {
    GIVES(MU_OK, mu_tensor_info(model, i, &info));
    CHECK(info.name[info.name_size] == '\0');
    CHECK(info.columns * info.rows == info.elements);
    CHECK(info.type_name != NULL && mu_file_path(model, info.file) != NULL);
    uint64_t found = 0;
    if (strlen(info.name) == info.name_size) GIVES(MU_OK, mu_tensor_find(model, info.name, &found));
    walk_bytes(model, i, &info);
    walk_rows(model, i, &info);
    walk_packing(model, i, &info);
  }
  GIVES(MU_ERROR_RANGE, mu_tensor_info(model, count, &info));
  GIVES(MU_ERROR_RANGE, mu_tensor_info(model, UINT64_MAX, &info));
}

int main(int argc, char** argv) {
  int models = 0;
  for (int i = 1; i < argc; ++i) {
    mu_model* model = NULL;
    const int before = failures;
    if (mu_open(argv[i], &model) == MU_OK) {
      ++models;
      CHECK(mu_format(model) != NULL && mu_architecture(model) != NULL && mu_file_count(model) > 0);
      (void)mu_parameter_count(model);
      walk_metadata(model);
      walk_tensors(model);
      mu_close(model);
    } else {
      CHECK(model == NULL);
      CHECK(mu_last_error_status() == MU_ERROR_INPUT || mu_last_error_status() == MU_ERROR_MEMORY);
      CHECK(mu_last_error_code()[0] != '\0' && mu_last_error_message()[0] != '\0');
      CHECK(strchr(mu_last_error_message(), '\033') == NULL && strchr(mu_last_error_message(), '\n') == NULL);
    }
    if (failures != before) fprintf(stderr, "%s: failed\n", argv[i]);
  }
  printf("%d of %d paths are models\n", models, argc - 1);
  return failures != 0;
}
