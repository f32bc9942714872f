// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Person } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { aTask } from '../testing';
import { ForkDialog } from './Fork';

// jsdom has dialogs that cannot be shown.
beforeEach(() => {
  HTMLDialogElement.prototype.showModal = vi.fn();
  HTMLDialogElement.prototype.close = vi.fn();
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function show(answer: () => Response) {
  const written: { path: string; body: { metadata: { name: string }; spec: unknown } }[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (init?.method !== 'POST') return new Response(JSON.stringify({ roles: [], tools: [], workspaceTools: [], items: [] }));
    written.push({ path, body: JSON.parse(init.body as string) });
    return answer();
  });
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default', may: {} } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  const onClose = vi.fn();
  render(
    <SiteContext value={site}>
      <ForkDialog forked={{ task: aTask('fix'), subAgent: 'fix', uid: 'the-agent' }} sequence={7} onClose={onClose} />
    </SiteContext>,
  );
  return { written, onClose };
}

const fork = () => fireEvent.click(screen.getByRole('button', { name: 'Fork', hidden: true }));

it('creates the task that its YAML and its command show', async () => {
  const { written, onClose } = show(() => new Response('{}'));
  fireEvent.change(screen.getByLabelText(/^Model/), { target: { value: 'large' } });
  fireEvent.change(screen.getByLabelText(/^Results of calls/), { target: { value: 'ReadOnly' } });
  expect(screen.getByRole('region', { name: 'Command', hidden: true }).textContent).toContain('kubectl nestor fork fix -n default --at 7 --model large --results ReadOnly');
  expect(screen.getByRole('region', { name: 'YAML of the fork', hidden: true }).textContent).toContain('    toolResults: ReadOnly\n');
  fork();
  await waitFor(() => expect(onClose).toHaveBeenCalled());
  expect(written.map(({ path }) => path)).toEqual(['/k8s/apis/nestor.dev/v1beta1/namespaces/default/agenttasks']);
  expect(written[0]!.body.spec).toEqual({ type: 'Agent', fork: { uid: 'the-agent', task: 'fix', sequence: 7, modelReplies: 'Live', toolResults: 'ReadOnly' }, model: 'large', user: 'alice' });
  expect(location.pathname + location.search).toBe(`/default/runs/${written[0]!.body.metadata.name}?view=compare`);
});

it('takes replies from the record until something is replaced', async () => {
  const { written } = show(() => new Response('{}'));
  const replies = screen.getByLabelText(/^Replies of the model/) as HTMLSelectElement;
  expect(replies.value).toBe('Live');
  fireEvent.change(replies, { target: { value: 'Recorded' } });
  fireEvent.change(screen.getByLabelText(/^Model/), { target: { value: 'large' } });
  expect([replies.value, replies.disabled]).toEqual(['Live', true]);
  fireEvent.change(screen.getByLabelText(/^Model/), { target: { value: '' } });
  expect([replies.value, replies.disabled]).toEqual(['Recorded', false]);
  fork();
  await waitFor(() => expect(written[0]?.body.spec).toMatchObject({ fork: { modelReplies: 'Recorded', toolResults: 'Recorded' } }));
});

it('stays open with the reason if the fork is refused', async () => {
  const { onClose } = show(() => new Response(JSON.stringify({ message: 'you may not get the transcript' }), { status: 403 }));
  fork();
  await screen.findByText('you may not get the transcript');
  expect(onClose).not.toHaveBeenCalled();
});
