// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Person } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Playground } from './Playground';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** Shows the playground of a role; the returned list has what was sent. */
function show(may: boolean) {
  const sent: { path: string; body: unknown }[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (init?.method === 'POST') sent.push({ path, body: JSON.parse(init.body as string) });
    if (path.endsWith('/prompt')) return new Response(JSON.stringify({ systemPrompt: 'You plan. ## Context', fromConfigMap: true }));
    const name = init?.method === 'POST' ? `try-${sent.length}` : path.replace(/^.*\//, '');
    return new Response(JSON.stringify({ metadata: { name }, status: { phase: 'Success', result: { summary: `Result of ${name}` } } }));
  });
  const site = { namespace: 'default', person: { may: { createTasks: may, 'create/agentroles': may } as Person['may'] } } as Site;
  render(
    <SiteContext value={site}>
      <Playground name="planner" spec={{ model: 'large' }} stored={{ model: 'small' }} builtIn />
    </SiteContext>,
  );
  return sent;
}

it('runs the draft and another version on the same task', async () => {
  const sent = show(true);
  expect(screen.getByRole('button', { name: 'Try it' })).toHaveProperty('disabled', true);
  fireEvent.change(screen.getByLabelText('Task'), { target: { value: 'Plan it.' } });
  fireEvent.change(screen.getByLabelText('Beside it, on the same task'), { target: { value: 'As it is applied' } });
  fireEvent.click(screen.getByRole('button', { name: 'Try it' }));
  await screen.findByText('Result of try-2');
  screen.getByText('Result of try-1');
  const path = '/api/namespaces/default/roles/planner/try';
  expect(sent).toEqual([
    { path, body: { spec: { model: 'large' }, instruction: 'Plan it.' } },
    { path, body: { spec: { model: 'small' }, instruction: 'Plan it.' } },
  ]);
});

it('keeps a draft to compare', () => {
  show(true);
  fireEvent.click(screen.getByRole('button', { name: 'Keep this draft to compare' }));
  const beside = screen.getByLabelText<HTMLSelectElement>('Beside it, on the same task');
  expect(beside.value).toMatch(/^Draft of /);
  expect([...beside.options].map(({ text }) => text).slice(0, 3)).toEqual(['nothing', 'As it is applied', 'As it is built in']);
});

it('says which permissions a try needs', () => {
  show(false);
  screen.getByText(/You need to create agenttasks and agentroles/);
  expect(screen.getByLabelText('Task')).toHaveProperty('disabled', true);
});
