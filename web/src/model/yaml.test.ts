// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { toYAML } from './yaml';

it('writes objects, lists and texts', () => {
  const chat = { apiVersion: 'nestor.dev/v1beta1', spec: { role: 'orchestrator', user: undefined, limits: { maxDepth: 2 }, tools: ['a', 'b'], nested: [{ name: 'x', on: true }], none: {}, empty: [] } };
  expect(toYAML(chat)).toBe(`apiVersion: nestor.dev/v1beta1
spec:
  role: orchestrator
  limits:
    maxDepth: 2
  tools:
    - a
    - b
  nested:
    - name: x
      "on": true
  none: {}
  empty: []`);
});

it.each([
  ['true', '"true"'],
  ['no', '"no"'],
  ['1.5Gi', '"1.5Gi"'],
  ['', '""'],
  ['- item', '"- item"'],
  ['a: b', '"a: b"'],
  ['a #b', '"a #b"'],
  ['https://git.example.com/x.git', 'https://git.example.com/x.git'],
  ['The release of 2026', 'The release of 2026'],
  ['bell\u0007', '"bell\\u0007"'],
])('a text that means something else is quoted: %s', (text, want) => {
  expect(toYAML({ a: text })).toBe(`a: ${want}`);
});

it('writes lines as a block where nothing is lost', () => {
  expect(toYAML({ a: 'one\n\ntwo\n' })).toBe('a: |\n  one\n\n  two');
  expect(toYAML({ a: 'one\ntwo' })).toBe('a: |-\n  one\n  two');
  expect(toYAML({ a: ' one\ntwo' })).toBe('a: " one\\ntwo"');
  expect(toYAML({ a: 'one\n\n' })).toBe('a: "one\\n\\n"');
});
