"""Checks that outputs follow the published schemas, and that the schemas refuse wrong outputs.

usage: validate.py SCHEMAS_DIR OUTPUTS_DIR MUTANTS_DIR [--all-members]
    SCHEMAS_DIR has NAME.schema.json, OUTPUTS_DIR NAME.jsonl (see outputs). Writes the mutants to MUTANTS_DIR/NAME.jsonl,
    for another validator. With --all-members, every described member must be in an output, which takes the outputs for
    the reference data.

A mutant is an output with one change: a member has another type, a required member is missing, a member has a value
that is not listed, or `schema` names another schema. Every mutant must be refused, because a schema that accepts
everything proves nothing. Mutants can only be made of described members, so a member that is written but not described
is a failure."""
import copy
import json
import pathlib
import sys

import jsonschema

# Members whose value has any form, because it comes from a file: arrays in arrays.
FREE = {("gguf-dump-1", "value"), ("model-diff-1", "a"), ("model-diff-1", "b")}
WRONG = [[[True]], {"wrong": 1}, True, "no such value", -1.5]
# Described members that no output of the corpora has, because they need other models or losses.
UNSEEN = {
    "extract-lora-1": {"severity", "code", "where", "message"},
    "fit-1": {"draft", "comp_state_bytes"},
    "gguf-quantize-1": {"weighted_rms"},
    "mlx2gguf-1": {"relative_rms_error", "max_abs_error"},
    "page-1": {"error"},
}


class Schema:
    """Finds the nodes of a schema that apply at a path of an output: several, because of anyOf and conditions."""

    def __init__(self, name, root):
        self.name, self.root = name, root

    def alternatives(self, nodes):
        found = []
        for node in nodes:
            while "$ref" in node and len(node) == 1:
                node = self.root["$defs"][node["$ref"].rsplit("/", 1)[1]]
            found.append(node)
            parts = [{"$ref": node["$ref"]}] if "$ref" in node else []
            for member in ("anyOf", "oneOf"):
                parts += node.get(member, [])
            found += self.alternatives(parts)
        return found

    def below(self, nodes, part):
        """Returns the nodes for a member or element of the value that `nodes` describe, and its name in an abstract
        path."""
        found, name = [], "*"
        for node in self.alternatives(nodes):
            if isinstance(part, int):
                inner = node.get("prefixItems", [])[part:part + 1] or [node[key] for key in ("items",) if key in node]
                found += inner
            elif part in node.get("properties", {}):
                found.append(node["properties"][part])
                name = part
            elif isinstance(node.get("additionalProperties"), dict):
                found.append(node["additionalProperties"])
        return found, name


def kind_of(value):
    for kind, types in (("null", type(None)), ("boolean", bool), ("number", (int, float)), ("string", str), ("array", list)):
        if isinstance(value, types):
            return kind
    return "object"


def places(schema, value):
    """Yields (path, abstract path, nodes) of each member and element; of arrays the first, the second and the last."""
    def walk(value, path, abstract, nodes):
        if isinstance(value, dict):
            items = list(value.items())
        elif isinstance(value, list):
            items = [(i, value[i]) for i in sorted({0, 1, len(value) - 1}) if 0 <= i < len(value)]
        else:
            return
        if path and (schema.name, path[-1]) in FREE and kind_of(value) in ("array", "object"):
            return
        for key, inner in items:
            found, name = schema.below(nodes, key)
            yield path + (key,), abstract + (name,), found
            if found:
                yield from walk(inner, path + (key,), abstract + (name,), found)

    yield from walk(value, (), (), [schema.root])


def described(schema):
    """Returns the names of all members that the schema describes."""
    names = set()

    def walk(node):
        if isinstance(node, dict):
            for name in node.get("properties", {}) if "type" in node or "required" in node else ():
                names.add(name)
            for key, inner in node.items():
                if key not in ("if", "then", "else", "allOf"):
                    walk(inner)
        elif isinstance(node, list):
            for inner in node:
                walk(inner)

    walk(schema.root)
    return names - {"base64"}


def at(output, path):
    for part in path:
        output = output[part]
    return output


def changed(output, path, value):
    mutant = copy.deepcopy(output)
    at(mutant, path[:-1])[path[-1]] = value
    return mutant


def required_at(schema, nodes, value):
    """Returns the required members of the object `value`; none if the schema also permits other types."""
    names = [set(node.get("required", ())) for node in schema.alternatives(nodes) if node.get("type") == "object"]
    return set.intersection(*names) & set(value) if names else set()


def mutants(schema, output, kinds):
    """Yields (mutant, description). `kinds` has, for each abstract path, the kinds of values that outputs have
    there."""
    for wrong in ("", schema.name.rsplit("-", 1)[0] + "/999"):
        yield {**output, "schema": wrong}, "schema"
    for member in schema.root["required"]:
        yield {key: value for key, value in output.items() if key != member}, f"without {member}"
    done = set()
    for path, abstract, nodes in places(schema, output):
        value = at(output, path)
        if abstract in done or not nodes:
            continue
        done.add(abstract)
        where = "/".join(map(str, path))
        seen = kinds[abstract] - {"null"}
        for wrong in WRONG:
            is_listed = any("enum" in node or "const" in node for node in nodes) and wrong == "no such value"
            is_free = (schema.name, path[-1]) in FREE and isinstance(wrong, (list, bool, float))
            if (seen and kind_of(wrong) not in seen and not is_free) or is_listed:
                yield changed(output, path, wrong), f"{where} is {json.dumps(wrong)}"
        if isinstance(value, dict):
            for member in sorted(required_at(schema, nodes, value)):
                less = {key: inner for key, inner in value.items() if key != member}
                yield changed(output, path, less), f"{where} without {member}"


def sample(lines):
    """Returns the shortest and the longest of the outputs below 20 kB, and some between, so that mutants are made
    quickly."""
    lines = sorted((line for line in lines if len(line) < 20_000), key=len)
    return lines[:: max(1, len(lines) // 4)][:4] + lines[-1:]


def check(name, root, outputs, mutants_file, all_members):
    jsonschema.Draft202012Validator.check_schema(root)
    if root["$id"] != f"urn:modelutils:schema:{name}" or not root.get("title"):
        return [f"{name}: $id or title is wrong"]
    validator = jsonschema.Draft202012Validator(root)
    schema = Schema(name, root)
    failures = []
    lines = outputs.read_text(encoding="utf-8").splitlines() if outputs.exists() else []
    if not lines:
        return [f"{name}: there is no output to validate"]
    kinds, undescribed, names = {}, set(), set()

    def with_names(members):
        names.update(name for name, _ in members)
        return dict(members)

    few = lines[:: 1 + len(lines) // 2000]  # this validator is slow; ajv reads all of them
    for line in few:
        if len(line) > 100_000:
            continue
        value = json.loads(line, object_pairs_hook=with_names)
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if error is not None:
            failures.append(f"{name}: at {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}: {line[:200]}")
        for path, abstract, nodes in places(schema, value):
            kinds.setdefault(abstract, set()).add(kind_of(at(value, path)))
            if not nodes and path[-1] != "base64":
                undescribed.add("/".join(map(str, abstract[:-1] + path[-1:])))
    failures += [f"{name}: does not describe {path}" for path in sorted(undescribed)]
    unseen = described(schema) - names - UNSEEN.get(name, set()) if all_members else set()
    failures += [f"{name}: no output has '{member}'" for member in sorted(unseen)]
    refused = 0
    for line in sample(lines):
        for mutant, where in mutants(schema, json.loads(line), kinds):
            mutants_file.write(json.dumps({"where": where, "mutant": mutant}) + "\n")
            if validator.is_valid(mutant):
                failures.append(f"{name}: accepts a mutant: {where}")
            else:
                refused += 1
    print(f"{name}: {len(lines)} outputs, {refused} mutants refused")
    return failures


def main():
    schemas, outputs, mutants_dir = map(pathlib.Path, sys.argv[1:4])
    all_members = sys.argv[4:] == ["--all-members"]
    failures = []
    names = sorted(path.name.removesuffix(".schema.json") for path in schemas.glob("*.schema.json"))
    for name in names:
        schema = json.loads((schemas / f"{name}.schema.json").read_text(encoding="utf-8"))
        with (mutants_dir / f"{name}.jsonl").open("w", encoding="utf-8") as mutants_file:
            failures += check(name, schema, outputs / f"{name}.jsonl", mutants_file, all_members)
    for other in sorted({path.stem for path in outputs.glob("*.jsonl")} - set(names)):
        failures.append(f"{other}: there is no schema")
    if not names:
        failures.append(f"no schemas in {schemas}")
    print("\n".join(dict.fromkeys(failures[:200])))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
