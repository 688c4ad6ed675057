// The same with npm's ajv: every output is valid, every mutant that validate.py made is refused.
// usage: node validate.mjs AJV_DIR SCHEMAS_DIR OUTPUTS_DIR MUTANTS_DIR
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const [ajvDir, schemas, outputs, mutants] = process.argv.slice(2);
const Ajv = createRequire(path.join(path.resolve(ajvDir), 'package.json'))('ajv/dist/2020').default;
const lines = (folder, name) => fs.readFileSync(path.join(folder, `${name}.jsonl`), 'utf8').split('\n').filter(Boolean);
let failed = false;
const fail = (text) => { console.log(text); failed = true; };

for (const file of fs.readdirSync(schemas).filter((each) => each.endsWith('.schema.json')).sort()) {
  const name = file.replace('.schema.json', '');
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false });
  const validate = ajv.compile(JSON.parse(fs.readFileSync(path.join(schemas, file), 'utf8')));
  const all = lines(outputs, name);
  for (const line of all) {
    if (!validate(JSON.parse(line))) fail(`${name}: ${ajv.errorsText(validate.errors)}: ${line.slice(0, 200)}`);
  }
  const wrong = lines(mutants, name).map((line) => JSON.parse(line));
  for (const { where, mutant } of wrong) {
    if (validate(mutant)) fail(`${name}: accepts a mutant: ${where}`);
  }
  if (all.length === 0 || wrong.length === 0) fail(`${name}: nothing to validate`);
  console.log(`${name}: ${all.length} outputs, ${wrong.length} mutants refused`);
}
process.exit(failed ? 1 : 0);
