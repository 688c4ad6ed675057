#!/usr/bin/env python3
"""Writes a file whose keys say that it is a projector; tests that only place files need no more.
usage: tiny_projector.py FILE"""
import sys

from tiny_gguf import gguf

gguf(sys.argv[1], {"general.architecture": "clip", "general.type": "mmproj"}, [("mm.0.weight", [32, 1])])
