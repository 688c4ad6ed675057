#!/usr/bin/python3
"""Renders the templates in cases.json with Jinja2, configured like transformers; writes their `text` or `kind`.

usage: render.py cases.json   (needs python3-jinja2; the file in the repository was made with 3.1.2)"""
import copy
import datetime
import json
import os
import sys
import time

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def render(environment, template, variables):
    try:
        return {"text": environment.from_string(template).render(**copy.deepcopy(variables))}
    except Raised as error:
        return {"kind": "raised", "error": str(error)}
    except (jinja2.TemplateSyntaxError, SyntaxError, AssertionError):
        return {"kind": "syntax"}
    except Exception:
        return {"kind": "error"}


def main():
    os.environ["TZ"] = "UTC"
    time.tzset()
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(cases["now"]).strftime(form)
    cases["cases"] = [{"template": one["template"], **render(environment, one["template"], cases["variables"])}
                      for one in cases["cases"]]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(cases, file, ensure_ascii=False, indent=1)
        file.write("\n")


main()
