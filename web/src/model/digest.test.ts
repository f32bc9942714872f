// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { callDigest, sha256 } from './digest';

it('is the SHA-256 of any text', () => {
  for (const text of ['', 'abc', 'Grüße, 世界 👋', ...Array.from({ length: 130 }, (_, n) => 'x'.repeat(n)), 'y'.repeat(70_000)]) {
    expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'));
  }
});

it('is the digest that the operator gives a call', () => {
  expect(callDigest('bash', '{"command":"make"}')).toBe('4bad9d163a09650223404461b918af24a1e2424b47f5f4b5899aa3551db1eb80');
});
