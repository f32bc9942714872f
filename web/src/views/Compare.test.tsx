// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Person } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { aTask } from '../testing';
import { Compare } from './Compare';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const side = { phase: 'Success', modelCalls: 1, toolCalls: 1, usage: { tokens: 100, costMicros: { USD: 5000 } }, durationMillis: 2000, role: 'coder', model: 'small' };
const step = { seq: 1, kind: 'Input', text: 'Add it up.', durationMillis: 0 };
const comparison = {
  same: false,
  firstDifference: 2,
  first: { ...side, transcript: 'subagent.fix' },
  second: { ...side, transcript: 'subagent.fix-fork', model: 'large' },
  rows: [
    { change: 'Same', first: step, second: step },
    {
      change: 'Changed',
      differs: ['arguments'],
      first: { seq: 2, kind: 'ToolCall', tool: 'calculator', arguments: '{"a":1}', durationMillis: 5, phase: 'Success' },
      second: { seq: 2, kind: 'ToolCall', tool: 'calculator', arguments: '{"a":2}', durationMillis: 5, phase: 'Success' },
      details: { arguments: '@@ -1,1 +1,1 @@\n-{"a":1}\n+{"a":2}\n' },
    },
    { change: 'Removed', first: { seq: 3, kind: 'End', text: '3', durationMillis: 0 } },
  ],
};

function show(task = aTask('fix-fork', { spec: { fork: { uid: 'u', task: 'fix' } }, status: { subAgent: 'fix-fork' } }), readTranscripts = true) {
  const read: string[] = [];
  vi.stubGlobal('fetch', async (path: string) => {
    read.push(path);
    return new Response(JSON.stringify(comparison));
  });
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default', may: { readTranscripts } as Person['may'] } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  render(
    <SiteContext value={site}>
      <Compare task={task} />
    </SiteContext>,
  );
  return read;
}

it('compares a fork with its origin, and marks the first difference', async () => {
  const read = show();
  await screen.findByText('The first difference is step 2 of 3.');
  expect(read).toEqual(['/api/namespaces/default/comparison?first=subagent.fix&second=subagent.fix-fork']);
  const second = screen.getByRole('listitem', { name: 'Step 2, differs' });
  within(second).getByText('The first difference: arguments');
  expect(within(second).getByRole('region', { name: 'Difference of arguments' }).textContent).toContain('+{"a":2}');
  expect(screen.getByRole('row', { name: 'Model small large' }).className).toBe('differs');
  within(screen.getByRole('listitem', { name: 'Step 3, only in the first run' })).getByText('not in fix-fork');
});

it('waits for a run that has not started', () => {
  expect(show(aTask('fix-fork', { spec: { fork: { uid: 'u', task: 'fix' } } }))).toEqual([]);
  screen.getByText('This run has not started');
});

it('asks for the other run', () => {
  const read = show(aTask('fix'));
  screen.getByText('Choose another run');
  expect(read).toEqual([]);
  fireEvent.change(screen.getByLabelText('Compare with'), { target: { value: 'other' } });
  fireEvent.click(screen.getByRole('button', { name: 'Compare' }));
  expect(location.pathname + location.search).toBe('/default/runs/fix?view=compare&with=other');
});

it('names the missing permission', () => {
  expect(show(undefined, false)).toEqual([]);
  screen.getByText('You may not read transcripts in this namespace.');
});
