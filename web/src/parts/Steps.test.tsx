// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { SiteContext, type Site } from '../state/context';
import { anAgent, anEntry, aTask, aTree } from '../testing';
import { Steps } from './Steps';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const person = (readTranscripts: boolean) => ({ namespace: 'default', person: { may: { readTranscripts } } }) as Site;

it('shows the arguments of a call, or says that they are in the inspector', () => {
  const calls = [
    { id: 'a', tool: 'read', phase: 'Success' as const, arguments: { path: 'main.go' } },
    { id: 'b', tool: 'write', phase: 'Success' as const, argumentsOmitted: true },
  ];
  const steps = <Steps node={aTree([aTask('t')], [anAgent('t', { toolCalls: calls })]).roots[0]!} inspect={() => undefined} />;
  render(<SiteContext value={person(false)}>{steps}</SiteContext>);
  fireEvent.click(screen.getByRole('button', { name: /read/ }));
  expect(screen.getAllByText(/main\.go/).length).toBeGreaterThan(0);
  fireEvent.click(screen.getByRole('button', { name: /write/ }));
  screen.getByText('The input is too large to show here. The inspector has it.');
});

it('shows a long write as the file that it makes, from the history', async () => {
  const entry = anEntry(1, { toolCalls: [{ id: 'b', tool: 'write', phase: 'Success', arguments: JSON.stringify({ path: 'long.md', content: 'line\n'.repeat(500) }) }] });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify({ entries: [entry] }))));
  const calls = [{ id: 'b', tool: 'write', phase: 'Success' as const, argumentsOmitted: true }];
  render(
    <SiteContext value={person(true)}>
      <Steps node={aTree([aTask('t')], [anAgent('t', { toolCalls: calls })]).roots[0]!} inspect={() => undefined} />
    </SiteContext>,
  );
  fireEvent.click(screen.getByRole('button', { name: /write/ }));
  await screen.findByText('long.md, 500 lines');
  expect(document.querySelectorAll('.diff-line')).toHaveLength(500);
  expect(document.body.textContent).not.toContain('"content"');
});
