// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
import { compressed } from './compressed.ts';

// The page's server, for `npm run dev`: the address that `kubectl nestor ui --address` was given.
const server = process.env.NESTOR_UI ?? 'http://127.0.0.1:8088';

export default defineConfig({
  // JSX goes through src/jsx, which shows characters that cannot be seen.
  plugins: [react({ jsxImportSource: '#jsx' }), compressed()],
  build: {
    target: 'es2022',
    // The content security policy allows no inline script, and browsers that run this need no polyfill.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 450,
  },
  server: {
    proxy: Object.fromEntries(['/api', '/k8s', '/login'].map((path) => [path, { target: server, changeOrigin: true }])),
  },
  test: {
    include: ['src/**/*.test.{ts,tsx}'],
    // Those that need a document say so; it takes a while to make one.
    environment: 'node',
    setupFiles: ['vitest.setup.ts'],
    testTimeout: 300_000,
  },
});
