// Holds reports against the official schemas: SARIF 2.1.0, CycloneDX 1.6, SPDX 3.0.1. A broken copy of each report must be
// refused.
// usage: node validate.mjs VALIDATORS_DIR OUTPUTS_DIR
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const [validators, outputs] = process.argv.slice(2).map((each) => path.resolve(each));
const require = createRequire(path.join(validators, 'package.json'));
const Draft7 = require('ajv');
const Draft2020 = require('ajv/dist/2020');
const addFormats = require('ajv-formats');
const modules = path.join(validators, 'node_modules');
const load = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
const make = (Ajv) => {
  const ajv = new Ajv({ strict: false, allErrors: false });
  addFormats(ajv);
  ajv.addFormat('iri-reference', true);
  ajv.addFormat('idn-email', true);
  return ajv;
};
const multitool = path.join(modules, '@microsoft/sarif-multitool-linux');
const cyclonedx = path.join(modules, '@cyclonedx/cyclonedx-library/res/schema');
const spdx = path.join(validators, 'spdx.schema.json');
let failed = false;
const fail = (text) => { console.log(text); failed = true; };

const checks = {
  sarif: {
    schema: () => {
      const schema = load(path.join(multitool, 'sarif-2.1.0.json'));
      return make(schema.$schema.includes('2020-12') ? Draft2020 : Draft7).compile(schema);
    },
    break: (value) => { value.runs[0].tool.driver.name = 1; },
  },
  cyclonedx: {
    schema: () => {
      const ajv = make(Draft7);
      for (const name of fs.readdirSync(cyclonedx)) {
        if (!/^(jsf-0\.82|spdx|cryptography-defs)\.SNAPSHOT\.schema\.json$/.test(name)) continue;
        ajv.addSchema({ ...load(path.join(cyclonedx, name)), $id: `http://cyclonedx.org/schema/${name}` });
      }
      return ajv.compile(load(path.join(cyclonedx, 'bom-1.6.SNAPSHOT.schema.json')));
    },
    break: (value) => { value.bomFormat = 'other'; },
  },
  spdx: {
    schema: () => (fs.existsSync(spdx) ? make(Draft2020).compile(load(spdx)) : undefined),
    break: (value) => { value['@graph'][0].type = 'Other'; },
  },
};

for (const [form, check] of Object.entries(checks)) {
  const validate = check.schema();
  if (validate === undefined) {
    console.log(`${form}: not validated: its schema could not be fetched`);
    continue;
  }
  const files = fs.readdirSync(outputs).filter((each) => each.endsWith(`.${form}`)).sort();
  for (const file of files) {
    const value = load(path.join(outputs, file));
    if (!validate(value)) fail(`${file}: ${JSON.stringify(validate.errors.slice(0, 2))}`);
    check.break(value);
    if (validate(value)) fail(`${form}: a broken copy of ${file} is accepted`);
  }
  if (files.length === 0) fail(`${form}: nothing to validate`);
  console.log(`${form}: ${files.length} reports by the schema`);
}

process.exit(failed ? 1 : 0);
