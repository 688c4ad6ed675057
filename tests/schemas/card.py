"""Writes mu_card()'s output for models, one object per line.

usage: card.py LIBRARY MODEL…"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.mu_text_data.restype = ctypes.c_char_p
for path in sys.argv[2:]:
    model, text = ctypes.c_void_p(), ctypes.c_void_p()
    if library.mu_open(path.encode(), ctypes.byref(model)) != 0:
        continue
    if library.mu_card(model, ctypes.byref(text)) == 0:
        print(library.mu_text_data(text, None).decode().strip())
        library.mu_text_free(text)
    library.mu_close(model)
