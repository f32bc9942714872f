// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { Arguments } from './Arguments';

afterEach(cleanup);

it('shows every argument, whole and exactly', () => {
  const long = 'line one\n' + 'x'.repeat(5000) + '\n<b>last</b>';
  const { container } = render(<Arguments text={JSON.stringify({ path: 'a.go', content: long, force: true, options: { deep: [1, 2] } })} />);
  expect([...container.querySelectorAll('dt')].map((term) => term.textContent)).toEqual(['path', 'content', 'force', 'options']);
  expect(container.querySelectorAll('dd')[1]?.textContent).toBe(long);
  expect(container.querySelector('b')).toBeNull();
});

it('shows what JSON.parse would lose, and what nobody would see', () => {
  const twice = '{"command": "rm -rf /", "command": "ls", "n": 12345678901234567890}';
  expect(render(<Arguments text={twice} />).container.textContent).toBe(twice);
  cleanup();
  const { container } = render(<Arguments text={'{"command":"a\u202eb\u200bc\u00a0d \\u003c e"}'} />);
  expect(container.querySelector('dd')?.textContent).toBe('a\\u202eb\\u200bc\\u00a0d < e');
});

it('shows what is not JSON as it stands', () => {
  expect(render(<Arguments text='{"path": "a' />).container.textContent).toBe('{"path": "a');
});

it('shows changes of files as diffs, and every other argument', () => {
  const args = { path: 'a.go', worktree: 'w', edits: [{ old_string: 'a\u202eb\n', new_string: 'c\n' }] };
  const { container } = render(<Arguments tool="patch" text={JSON.stringify(args)} />);
  expect([...container.querySelectorAll('dt')].map((term) => term.textContent)).toEqual(['path', 'worktree']);
  expect([...container.querySelectorAll('.diff-line')].map((line) => line.textContent)).toEqual(['-a\\u202eb', '+c']);
  cleanup();
  const other = render(<Arguments tool="notes__patch" text={JSON.stringify(args)} />).container;
  expect(other.querySelector('.diff-line')).toBeNull();
  expect([...other.querySelectorAll('dt')].map((term) => term.textContent)).toEqual(['path', 'worktree', 'edits']);
});
