// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { readFileSync } from 'node:fs';
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Person, PolicyTrial } from '../api/types';
import { policyForm } from '../model/policy';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { PoliciesPage } from './PoliciesPage';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const trial: PolicyTrial = {
  runs: 1, calls: 3, matched: 3, denied: 0, approvals: 1, unknown: 1, failed: 0,
  findings: [
    { time: '2026-11-18T07:00:00Z', transcript: 'chat.talk', toolCall: 'w', tool: 'write', arguments: { path: 'a' }, contentLabels: ['untrusted'], action: 'RequireApproval', verdicts: [{ policy: 'p', rule: 'writes', message: 'Is it?', action: 'RequireApproval' }] },
    { time: '2026-11-18T07:01:00Z', transcript: 'subagent.talk-1', toolCall: 'x', tool: 'shell', action: 'Unknown', verdicts: [{ policy: 'p', rule: 'writes', action: 'Unknown' }], unknown: ['usage'] },
  ],
};

/** Shows the page; the returned list has what was posted. */
function show(edit: string | undefined, answers: Record<string, unknown> = {}) {
  const posted: { path: string; body: unknown }[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (init?.method === 'POST') posted.push({ path, body: JSON.parse(init.body as string) });
    const name = Object.keys(answers).find((known) => path.endsWith(known));
    return new Response(JSON.stringify(name ? answers[name] : path.endsWith('/api/catalog') ? { roles: [], tools: [], workspaceTools: [] } : { items: [] }));
  });
  const person = { user: 'alice', namespace: 'default', may: { readTranscripts: true, 'create/toolpolicies': true } as Person['may'] } as Person;
  const site: Site = { store: new Store(), person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  render(
    <SiteContext value={site}>
      <PoliciesPage onMenu={() => undefined} edit={edit} />
    </SiteContext>,
  );
  return posted;
}

it('lists the policies that apply, and may edit its own only', async () => {
  const shared = { namespace: 'nestor-system', name: 'shared', mode: 'Audit', rules: ['a'], ready: 'False', reason: 'Invalid', message: 'The expression is wrong.' };
  show(undefined, { '/policies': { items: [shared, { namespace: 'default', name: 'own', mode: 'Enforce', rules: ['b'], tools: ['write'], ready: 'True', reason: 'Ready', message: '' }], unreadable: 'you may not read more' } });
  await screen.findByText('The list may be incomplete: you may not read more.');
  expect(screen.getByRole('article', { name: 'shared' }).textContent).toContain('The expression is wrong.');
  expect(screen.getByRole('article', { name: 'shared' }).textContent).toContain('the namespace nestor-system');
  expect(screen.getAllByRole('link', { name: /^Edit/ }).map((link) => link.getAttribute('href'))).toEqual(['/default/policies?edit=own']);
});

it('has a rule in a form, and shows what it would have done', async () => {
  const posted = show('', { '/try': trial });
  fireEvent.click(await screen.findByRole('button', { name: 'Every write needs a person' }));
  fireEvent.click(screen.getByRole('button', { name: 'Add a rule' }));
  fireEvent.change(screen.getAllByLabelText(/^Allow when/)[1]!, { target: { value: "labels == []" } });
  const yaml = screen.getByRole('region', { name: 'YAML of the policy' }).textContent;
  expect(yaml).toContain('    - name: writes\n      allowWhen: call.readOnly\n');
  expect(yaml).toContain("    - name: rule-2\n      allowWhen: labels == []\n");
  fireEvent.click(screen.getByRole('button', { name: 'Remove rule 2' }));
  fireEvent.click(screen.getByRole('button', { name: '30 days' }));
  fireEvent.click(screen.getByRole('button', { name: 'Try it' }));
  await screen.findByText(/3 calls of 1 run, 3 matched: 0 denied, 1 to a person, 1 unknown\./);
  expect(posted).toEqual([{ path: '/api/namespaces/default/policies/writes/try', body: { spec: policyForm.presets![1]!.spec, days: 30 } }]);
  expect(screen.getByText('writes: Is it?')).toBeTruthy();
  expect(screen.getByRole('link', { name: 'talk' }).getAttribute('href')).toBe('/default/chats/talk');
  fireEvent.change(screen.getByLabelText(/^Mode/), { target: { value: 'Enforce' } });
  await waitFor(() => expect(screen.queryByText(/3 calls of 1 run/)).toBeNull());
});

it('begins with the expressions of the starter policies', () => {
  for (const { name, spec } of policyForm.presets!) {
    if (name === 'writes') continue; // that of production-writes, without its namespaces
    const starter = readFileSync(`../config/policies/${name}.yaml`, 'utf8');
    for (const rule of spec.rules as { allowWhen: string; message: string }[]) {
      expect(starter).toContain(rule.allowWhen);
      expect(starter).toContain(rule.message);
    }
  }
});
