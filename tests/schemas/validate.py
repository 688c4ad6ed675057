"""Do outputs keep to the published schemas, and do the schemas refuse what is wrong?

usage: validate.py SCHEMAS_DIR OUTPUTS_DIR       SCHEMAS_DIR has NAME.schema.json, OUTPUTS_DIR NAME.jsonl (see outputs)
       validate.py SCHEMAS_DIR OUTPUTS_DIR --mutants DIR    also writes the mutants to DIR/NAME.jsonl, for another validator

A mutant is an output of which one member is of another type, one that must be there is missing, or `schema` names another
schema. Every mutant must be refused: a schema that accepts everything proves nothing.
"""
import copy
import json
import pathlib
import sys

import jsonschema

# Members whose value may be anything, since it comes from a file.
FREE = {("gguf-dump-1", "value"), ("model-diff-1", "a"), ("model-diff-1", "b")}
WRONG = [[True]]  # of no type that a described member has


def places(value, path=()):
    """Paths to the members and elements of a value, of each list its first and its last element."""
    if isinstance(value, dict):
        items = list(value.items())[:16]
    elif isinstance(value, list):
        items = [(i, value[i]) for i in sorted({0, len(value) - 1}) if value]
    else:
        return
    for key, inner in items:
        yield path + (key,)
        yield from places(inner, path + (key,))


def is_free(name, path):
    if name == "model-diff-1" and "changed" not in path:
        return False
    return any((name, part) in FREE for part in path)


def described(schema, path):
    """Does the schema say something of the member at that path?"""
    def follow(node):
        while "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        return node

    nodes = [schema]
    for part in path:
        found = []
        for node in map(follow, nodes):
            for each in [node, *node.get("anyOf", [])]:
                each = follow(each)
                if isinstance(part, int):
                    found += each.get("prefixItems", [])[part:part + 1] or ([each["items"]] if "items" in each else [])
                elif part in each.get("properties", {}):
                    found.append(each["properties"][part])
                elif isinstance(each.get("additionalProperties"), dict):
                    found.append(each["additionalProperties"])
        nodes = found
    return bool(nodes)


def mutants(name, schema, output):
    for changed in ("", name.rsplit("-", 1)[0] + "/999"):
        yield {**output, "schema": changed}, "schema"
    for path in places(output):
        if is_free(name, path) or not described(schema, path):
            continue
        mutant = copy.deepcopy(output)
        holder = mutant
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = WRONG
        yield mutant, "/".join(map(str, path))
    for member in schema["required"]:
        mutant = dict(output)
        del mutant[member]
        yield mutant, f"without {member}"


def sample(lines):
    """The shortest and the longest of the outputs that a mutant can be made of in a moment, and some between."""
    lines = sorted((line for line in lines if len(line) < 20_000), key=len)
    return lines[:: max(1, len(lines) // 4)][:4] + lines[-1:]


def check(name, schema, outputs, mutants_file):
    jsonschema.Draft202012Validator.check_schema(schema)
    if schema["$id"] != f"urn:modelutils:schema:{name}" or not schema.get("title"):
        return [f"{name}: $id or title is wrong"]
    validator = jsonschema.Draft202012Validator(schema)
    failures = []
    lines = outputs.read_text(encoding="utf-8").splitlines() if outputs.exists() else []
    if not lines:
        return [f"{name}: there is no output to validate"]
    for line in lines:
        value = json.loads(line)
        if len(line) > 100_000:  # this validator is slow; ajv reads all of them
            continue
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if error is not None:
            failures.append(f"{name}: at {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}: {line[:200]}")
    refused = 0
    for line in sample(lines):
        for mutant, where in mutants(name, schema, json.loads(line)):
            if mutants_file:
                mutants_file.write(json.dumps({"where": where, "mutant": mutant}) + "\n")
            if validator.is_valid(mutant):
                failures.append(f"{name}: accepts a mutant: {where}")
            else:
                refused += 1
    print(f"{name}: {len(lines)} outputs, {refused} mutants refused")
    return failures


def main():
    schemas, outputs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    mutants_dir = pathlib.Path(sys.argv[4]) if sys.argv[3:4] == ["--mutants"] else None
    failures = []
    names = sorted(path.name.removesuffix(".schema.json") for path in schemas.glob("*.schema.json"))
    for name in names:
        schema = json.loads((schemas / f"{name}.schema.json").read_text(encoding="utf-8"))
        mutants_file = (mutants_dir / f"{name}.jsonl").open("w", encoding="utf-8") if mutants_dir else None
        failures += check(name, schema, outputs / f"{name}.jsonl", mutants_file)
    for other in sorted({path.stem for path in outputs.glob("*.jsonl")} - set(names)):
        failures.append(f"{other}: there is no schema")
    if not names:
        failures.append(f"no schemas in {schemas}")
    print("\n".join(failures[:40]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
