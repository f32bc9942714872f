// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe as suite, expect, it } from 'vitest';
import { describe, exactly, restrictionsOf } from './allowances';

suite('restrictions of an allowance', () => {
  it('are proposed from the call', () => {
    expect(restrictionsOf(JSON.stringify({ path: 'docs/a/b.md', content: 'x'.repeat(300), force: true, title: 'A *star* \\ and more', empty: '' }))).toEqual([
      { name: 'path', pattern: 'docs/a/*' },
      { name: 'title', pattern: 'A \\*star\\* \\\\ and more' },
    ]);
  });

  it.each([
    ['../x/secret', '../x/secret'],
    ['rm -rf /', 'rm -rf /'],
    ['cat a/b; ls c/', 'cat a/b; ls c/'],
    ['a*b/c', 'a\\*b/*'],
    ['plain', 'plain'],
  ])('never reach further than they look: %s', (command, pattern) => expect(restrictionsOf(JSON.stringify({ command }))).toEqual([{ name: 'command', pattern }]));

  it('do not exist for what cannot be matched', () => {
    expect(restrictionsOf('not json')).toEqual([]);
    expect(restrictionsOf('[]')).toEqual([]);
    expect(restrictionsOf('{"a":"x","a":"y"}')).toEqual([]);
    expect(restrictionsOf('{"two words":"x","n":1}')).toEqual([]);
    expect(restrictionsOf(JSON.stringify({ a: '1', b: '2', c: '3', d: '4', e: '5' }))).toHaveLength(4);
  });

  it('are described', () => {
    expect(exactly('a*\\')).toBe('a\\*\\\\');
    expect(describe('write', undefined)).toBe('every call of write');
    expect(describe('write', [{ name: 'path', pattern: 'docs/*' }])).toBe('calls of write with path docs/*');
  });
});
