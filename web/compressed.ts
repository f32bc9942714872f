// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Writes compressed forms beside the assets of a build, which the server sends to browsers that accept them. */
export function compressed(): Plugin {
  return {
    name: 'nestor-compressed',
    apply: 'build',
    writeBundle({ dir }) {
      const assets = join(dir!, 'assets');
      for (const file of readdirSync(assets)) {
        if (!/\.(js|css)$/.test(file)) continue;
        const path = join(assets, file);
        const content = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
      }
    },
  };
}
