// Prints a summary of a model: its format, its number of tensors, and the first value of one of them.
#include <modelutils.h>
#include <stdio.h>

int main(int argc, char** argv) {
  mu_model* model = NULL;
  uint64_t index = 0;
  mu_tensor tensor;
  float row[1024];
  if (argc != 2) return 2;
  if (mu_open(argv[1], &model) != MU_OK) {
    fprintf(stderr, "%s\n", mu_last_error_message());
    return 1;
  }
  tensor.struct_size = sizeof tensor;
  if (mu_tensor_find(model, "output_norm.weight", &index) != MU_OK || mu_tensor_info(model, index, &tensor) != MU_OK ||
      mu_tensor_dequantize(model, index, 0, 1, row, 1024) != MU_OK) {
    fprintf(stderr, "%s\n", mu_last_error_message());
    mu_close(model);
    return 1;
  }
  printf("%s %s: %d tensors, %s begins with %.3f\n", mu_version(), mu_format(model), (int)mu_tensor_count(model),
         tensor.name, row[0]);
  mu_close(model);
  return 0;
}
