// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Person } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { Revisions } from './Revisions';

beforeEach(() => {
  HTMLDialogElement.prototype.showModal = vi.fn();
  HTMLDialogElement.prototype.close = vi.fn();
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const revision = (number: number, states: string[] = []) => ({ revision: `${'0'.repeat(7)}${number}${'f'.repeat(24)}`, number, creationTime: '2026-01-01T00:00:00Z', states });
const items = [revision(3, ['Current']), revision(2, ['Promoted']), revision(1, ['Previous'])];

function show({ gated = true, may = true } = {}) {
  const sent: string[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (init?.method === 'POST') {
      sent.push(`${path} ${init.body as string}`);
      return new Response(null, { status: 204 });
    }
    if (path.includes('/diff')) {
      sent.push(path);
      return new Response(JSON.stringify({ diff: '@@ -1,1 +1,1 @@\n-systemPrompt: old\n+systemPrompt: new\n' }));
    }
    return new Response(JSON.stringify({ items, gated }));
  });
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default', may: { 'promote/agentroles': may } as Person['may'] } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  render(
    <SiteContext value={site}>
      <Revisions role="coder" />
    </SiteContext>,
  );
  return sent;
}

const roleURL = '/api/namespaces/default/roles/coder';

it('shows what a promotion changes before it promotes', async () => {
  const sent = show();
  fireEvent.click(await screen.findByRole('button', { name: 'Promote' }));
  await screen.findByRole('region', { name: 'Changes from 00000002 to 00000003', hidden: true });
  screen.getByText('kubectl nestor role promote coder 00000003 -n default');
  expect(sent).toEqual([`${roleURL}/revisions/diff?from=${items[1]!.revision}&to=${items[0]!.revision}`]);
  fireEvent.click(screen.getAllByRole('button', { name: 'Promote', hidden: true }).at(-1)!);
  await waitFor(() => expect(sent.at(-1)).toBe(`${roleURL}/promote {"revision":"${items[0]!.revision}"}`));
});

it('rolls back to the revision that was promoted before', async () => {
  const sent = show();
  fireEvent.click(await screen.findByRole('button', { name: 'Roll back' }));
  fireEvent.click(screen.getAllByRole('button', { name: 'Roll back', hidden: true }).at(-1)!);
  await waitFor(() => expect(sent.at(-1)).toBe(`${roleURL}/promote {"revision":"${items[2]!.revision}"}`));
});

it('compares a revision with the one before it, and promotes nothing without the permission or a gate', async () => {
  const sent = show({ may: false });
  fireEvent.click(await screen.findByRole('button', { name: 'Changes since 1' }));
  await screen.findByRole('region', { name: 'Changes from 00000001 to 00000002' });
  expect(sent).toHaveLength(1);
  screen.getByText(/you need the verb promote/);
  expect(screen.queryByRole('button', { name: 'Promote' })).toBeNull();
  cleanup();
  show({ gated: false });
  await screen.findByText(/^Runs begin with the current revision/);
  expect(screen.queryByRole('button', { name: 'Promote' })).toBeNull();
});
