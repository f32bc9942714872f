// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { defineConfig } from 'vitest/config';

// The page on the real stack, in a real browser. One file at a time: the machine may be small.
export default defineConfig({
  test: {
    include: [process.env.SHOTS ? 'e2e/screenshots.ts' : 'e2e/**/*.test.ts'],
    environment: 'node',
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    retry: 0,
  },
});
