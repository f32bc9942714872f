// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Prints, as JSON, what the reference library has to say about each directory below its argument: a list of errors, empty for a valid skill.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { validate } from 'skills-ref';

const [root] = process.argv.slice(2);
const found = {};
for (const entry of readdirSync(root)) {
  const [skill] = readdirSync(join(root, entry));
  found[entry] = await validate(join(root, entry, skill));
}
console.log(JSON.stringify(found));
