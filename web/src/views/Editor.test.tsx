// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Person, Role } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { RolesPage } from './RolesPage';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const poet = (more: Partial<Role['metadata']> = {}): Role => ({ metadata: { name: 'poet', namespace: 'default', uid: 'u', resourceVersion: '7', creationTimestamp: '', ...more }, spec: { displayName: 'Poet', limits: { maxIterations: 5 }, review: { role: 'critic' } } as Role['spec'], status: {} });

interface Written {
  method: string;
  path: string;
  body: { metadata: Record<string, unknown>; spec: Record<string, unknown> };
}

/** Shows the editor of a role; the returned list has what was written. */
function show(edit: string, roles: Role[], options: { may?: boolean; refuse?: string } = {}) {
  const written: Written[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    const json = (value: unknown) => new Response(JSON.stringify(value));
    if (init?.method === 'POST' || init?.method === 'PUT') {
      const body = JSON.parse(init.body as string) as Written['body'];
      written.push({ method: init.method, path: path.replace(/^.*namespaces/, ''), body });
      return options.refuse ? new Response(JSON.stringify({ message: options.refuse }), { status: 422 }) : json({ ...body, metadata: { ...body.metadata, uid: 'u', managedFields: [] } });
    }
    if (path.endsWith('/api/catalog')) return json({ roles: [{ name: 'coder', displayName: 'Coder', limits: { maxIterations: 20 } }], tools: [], workspaceTools: [] });
    return json({ items: path.includes('agentroles') ? roles : [] });
  });
  const may = { 'create/agentroles': options.may ?? true, 'update/agentroles': options.may ?? true } as Person['may'];
  const toast = vi.fn();
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default', may } as Person, namespace: 'default', toast, roles: (name) => ({ name: name ?? '' }) };
  render(
    <SiteContext value={site}>
      <RolesPage edit={edit} onMenu={() => undefined} />
    </SiteContext>,
  );
  return { written, toast };
}

const yaml = () => screen.getByRole('region', { name: 'YAML of the role' }).textContent;
const apply = () => screen.queryByRole('button', { name: 'Apply to default' });

it('shows YAML of what is typed, keeps other fields, and writes nothing', async () => {
  const { written } = show('poet', [poet()]);
  fireEvent.change(await screen.findByLabelText(/^Iterations/), { target: { value: '9' } });
  fireEvent.change(screen.getByLabelText(/^Tools/), { target: { value: 'notes__*\n\n think \n' } });
  expect(yaml()).toBe('apiVersion: nestor.dev/v1beta1\nkind: AgentRole\nmetadata:\n  name: poet\n  namespace: default\nspec:\n  displayName: Poet\n  limits:\n    maxIterations: 9\n  review:\n    role: critic\n  tools:\n    allow:\n      - notes__*\n      - think\n');
  screen.getByText('review');
  expect(apply()).toBeNull();
  expect(written).toEqual([]);
});

it('applies only what a dry run has accepted, as it was checked', async () => {
  const { written, toast } = show('poet', [poet()]);
  fireEvent.change(await screen.findByLabelText(/^Iterations/), { target: { value: '9' } });
  fireEvent.click(screen.getByRole('button', { name: 'Check with a dry run' }));
  await screen.findByText(/^The API server accepts it/);
  expect(screen.getByRole('region', { name: 'Changes of the role' }).textContent).toMatch(/-.*maxIterations: 5.*\+.*maxIterations: 9/s);
  expect(apply()).not.toBeNull();
  fireEvent.change(screen.getByLabelText(/^Iterations/), { target: { value: '10' } });
  expect(apply()).toBeNull(); // another manifest needs another dry run
  fireEvent.change(screen.getByLabelText(/^Iterations/), { target: { value: '9' } });
  fireEvent.click(apply()!);
  await waitFor(() => expect(toast).toHaveBeenCalledWith('The role poet is changed.'));
  expect(written.map(({ method, path }) => `${method} ${path}`)).toEqual(['PUT /default/agentroles/poet?dryRun=All', 'PUT /default/agentroles/poet']);
  expect(written[1]!.body).toMatchObject({ metadata: { name: 'poet', resourceVersion: '7' }, spec: { limits: { maxIterations: 9 }, review: { role: 'critic' } } });
});

it('creates a change of a built-in role with the differences only', async () => {
  const { written } = show('coder', []);
  const iterations = await screen.findByLabelText(/^Iterations/);
  expect(iterations.getAttribute('placeholder')).toBe('20');
  fireEvent.change(iterations, { target: { value: '40' } });
  fireEvent.click(screen.getByRole('button', { name: 'Check with a dry run' }));
  await screen.findByText(/This would be created in default/);
  expect(written).toMatchObject([{ method: 'POST', path: '/default/agentroles?dryRun=All', body: { metadata: { name: 'coder' }, spec: { limits: { maxIterations: 40 } } } }]);
});

it('shows why the API server refuses a role', async () => {
  show('', [], { refuse: 'set spec.systemPrompt' });
  const check = (await screen.findByRole('button', { name: 'Check with a dry run' })) as HTMLButtonElement;
  expect(check.disabled).toBe(true);
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'poet' } });
  fireEvent.click(check);
  await screen.findByText('set spec.systemPrompt');
  expect(apply()).toBeNull();
});

it('has YAML for people who may not write roles', async () => {
  show('poet', [poet()], { may: false });
  await screen.findByText('You may not change roles in this namespace.');
  expect(yaml()).toContain('kind: AgentRole');
  expect(screen.queryByRole('button', { name: 'Check with a dry run' })).toBeNull();
});

it('warns if a role is applied from a repository', async () => {
  show('poet', [poet({ managedFields: [{ manager: 'argocd-controller' }] })]);
  await screen.findByText('argocd-controller');
  expect(yaml()).not.toContain('managedFields');
});
