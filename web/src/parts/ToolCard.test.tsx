// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import type { Entry } from '../api/history';
import { rowsOf } from '../model/transcript';
import { ToolCard } from './ToolCard';

afterEach(cleanup);

/** The card of a call of write that ran. */
function show(output: string, diff?: string) {
  const entries: Entry[] = [
    { seq: 1, time: '', kind: 'Assistant', toolCalls: [{ id: 'c', tool: 'write', arguments: JSON.stringify({ path: 'a.md', content: 'one\nTwo\n' }), phase: 'Running' }] },
    { seq: 2, time: '', kind: 'ToolResult', content: output, toolCalls: [{ id: 'c', tool: 'write', phase: 'Success', ...(diff ? { diff } : {}) }] },
  ];
  const { container } = render(<ToolCard open call={rowsOf(entries)[0]!.calls[0]!} onToggle={() => undefined} />);
  return { text: container.textContent, lines: [...container.querySelectorAll('.diff-line')].map((line) => line.textContent), brief: container.querySelector('.tool-brief')?.textContent };
}

it('shows what a call of write replaced', () => {
  const { text, lines, brief } = show('Replaced a.md (2 lines, 8 bytes).', '@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+Two\n');
  expect(lines).toEqual(['1 one', '2-two', '\\No line break at the end.', '2+Two']);
  expect(brief).toBe('a.md +1 −1');
  expect(text).toContain('What the call changed');
  expect(text).toContain('The whole new content');
});

it('does not claim a difference that was not recorded', () => {
  const { text, lines, brief } = show('Replaced a.md (2 lines, 8 bytes).');
  expect(brief).toBe('a.md, 2 lines');
  expect(lines).toEqual(['+one', '+Two']);
  expect(text).toContain('There is no record of a difference');
  cleanup();
  expect(show('Created a.md (2 lines, 8 bytes).').text).toContain('New file');
});

it('names the arguments with which a person approved the call', () => {
  const entries: Entry[] = [
    { seq: 1, time: '', kind: 'Assistant', toolCalls: [{ id: 'c', tool: 'add', arguments: '{"title":"secret"}', phase: 'WaitingForApproval' }] },
    { seq: 2, time: '', kind: 'Decision', user: 'alice', decision: 'Approve', toolCalls: [{ id: 'c', tool: 'add', arguments: '{"title":"public"}', phase: 'Running' }] },
  ];
  const { container } = render(<ToolCard open call={rowsOf(entries)[0]!.calls[0]!} onToggle={() => undefined} />);
  expect(container.querySelector('.tool-brief')?.textContent).toBe('public');
  expect(container.querySelector('.tool-body')?.textContent).toMatch(/Input.*secret.*Changed input.*public/s);
});
