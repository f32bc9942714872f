// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { annotationFireResult, annotationFiring } from '../api/types';
import type { Person, Task, Trigger } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { aTask, aTrigger } from '../testing';
import { TriggersPage } from './TriggersPage';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** Shows the page with what the server has; the answer to a request to fire changes it. */
function show(server: { triggers: Trigger[]; tasks?: Task[]; fire?: (name: string, input: unknown) => Response }, may: Partial<Person['may']> = {}) {
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    const json = (value: unknown) => new Response(JSON.stringify(value), { status: 200 });
    const fired = /agenttriggers\/([^/]+)\/fire$/.exec(path);
    if (fired && init?.method === 'POST') return server.fire!(fired[1]!, JSON.parse(init.body as string));
    if (path.includes('/agenttriggers')) return json({ items: structuredClone(server.triggers) });
    return json({ items: path.includes('/agenttasks') ? (server.tasks ?? []) : [] });
  });
  const toast = vi.fn();
  const site: Site = { store: new Store(), person: { user: 'alice', signIn: 'link', namespace: 'default', version: '', may: { fireTriggers: true, ...may } as Person['may'] }, namespace: 'default', toast, roles: (name) => ({ name: name ?? '' }) };
  render(
    <SiteContext value={site}>
      <TriggersPage onMenu={() => undefined} />
    </SiteContext>,
  );
  return toast;
}

it('shows triggers with their state and their runs', async () => {
  const run = aTask('nightly-1', { status: { phase: 'Success', result: { summary: 'All is <b>well</b>.' } } });
  run.metadata.annotations = { [annotationFiring]: 'nightly-uid/s1' };
  const broken = aTrigger('broken', { conditions: [{ type: 'Ready', status: 'False', reason: 'InvalidExpression', message: 'undeclared reference' }] });
  show({ triggers: [aTrigger('nightly', { nextScheduleTime: new Date(Date.now() + 100.5 * 86_400_000).toISOString(), firings: 3, dropped: 1, lastDrop: { id: 's0', time: '2026-01-01T00:00:00Z', reason: 'Active', message: 'It is active.' }, conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] }), broken], tasks: [run] });
  const panel = within(await screen.findByRole('region', { name: 'Trigger nightly' }));
  panel.getByText('Ready');
  panel.getByText(/\(in 100 days\)$/);
  panel.getByText('3 firings, 0 active, 1 dropped');
  panel.getByText(/It is active\.$/);
  within(panel.getByRole('list', { name: 'Runs of nightly' })).getByText('All is <b>well</b>.');
  within(screen.getByRole('region', { name: 'Trigger broken' })).getByText('InvalidExpression: undeclared reference');
});

it('has no button for those who may not patch triggers', async () => {
  show({ triggers: [aTrigger('nightly')] }, { fireTriggers: false });
  await screen.findByRole('region', { name: 'Trigger nightly' });
  expect(screen.queryByRole('button', { name: 'Fire nightly' })).toBeNull();
});

it('fires a schedule at once, and tells why it did not fire', async () => {
  const nightly = aTrigger('nightly');
  const toast = show({
    triggers: [nightly],
    fire: () => {
      nightly.metadata.annotations = { [annotationFireResult]: '{"id": "one", "outcome": "Suspended", "message": "It is suspended."}' };
      return new Response('{"id": "one"}', { status: 200 });
    },
  });
  fireEvent.click(await screen.findByRole('button', { name: 'Fire nightly' }));
  await waitFor(() => expect(toast).toHaveBeenCalledWith('nightly did not fire: It is suspended.', 'error'));
  expect((screen.getByRole('button', { name: 'Fire nightly' }) as HTMLButtonElement).disabled).toBe(false);
});

it('shows the refusal of the API server', async () => {
  const toast = show({ triggers: [aTrigger('nightly')], fire: () => new Response('{"message": "you may not create agenttasks"}', { status: 403 }) });
  fireEvent.click(await screen.findByRole('button', { name: 'Fire nightly' }));
  await waitFor(() => expect(toast).toHaveBeenCalledWith('you may not create agenttasks', 'error'));
});

it('asks for the body of a webhook, and refuses what is not JSON', async () => {
  HTMLDialogElement.prototype.showModal = vi.fn();
  HTMLDialogElement.prototype.close = vi.fn();
  const hook = aTrigger('hook', {}, {}, { schedule: undefined, webhook: { format: 'GitHub' } });
  const inputs: unknown[] = [];
  const toast = show({
    triggers: [hook],
    fire: (_, input) => {
      inputs.push(input);
      hook.status = { lastFireID: 'mone' };
      return new Response('{"id": "one"}', { status: 200 });
    },
  });
  fireEvent.click(await screen.findByRole('button', { name: 'Fire hook' }));
  const body = screen.getByLabelText('The body that the expressions see, as JSON');
  const confirm = () => screen.getByText('Fire', { selector: '.primary' }) as HTMLButtonElement;
  fireEvent.change(body, { target: { value: '{' } });
  expect(confirm().disabled).toBe(true);
  fireEvent.change(body, { target: { value: '{"id": 9007199254740993}' } });
  screen.getByText(/^A browser rounds/);
  expect(confirm().disabled).toBe(true);
  fireEvent.change(body, { target: { value: '{"action": "opened"}' } });
  fireEvent.click(confirm());
  await waitFor(() => expect(toast).toHaveBeenCalledWith('hook fired.'));
  expect(inputs).toEqual([{ body: { action: 'opened' } }]);
});
