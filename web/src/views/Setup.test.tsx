// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Person } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { ProviderSetup, QuotaSetup, ToolServerSetup, TriggerSetup } from './Setup';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** Shows a form; the returned list has what was written. */
function show(form: React.ReactNode) {
  const written: { path: string; body: unknown }[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (init?.method === 'POST') {
      written.push({ path, body: JSON.parse(init.body as string) });
      return path.endsWith('/secrets') ? new Response(null, { status: 204 }) : new Response(init.body as string);
    }
    if (path.startsWith('/api/schedule')) return new Response(JSON.stringify({ words: 'Monday to Friday at 07:00 (UTC)', next: ['2026-11-19T07:00:00Z', '2026-11-20T07:00:00Z'] }));
    return new Response(JSON.stringify(path.endsWith('/api/catalog') ? { roles: [], tools: [], workspaceTools: [] } : { items: [] }));
  });
  const may = { 'create/modelproviders': true, 'create/agenttriggers': true } as Person['may'];
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default', may } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  render(<SiteContext value={site}>{form}</SiteContext>);
  return written;
}

const yaml = (word: string) => screen.getByRole('region', { name: `YAML of the ${word}` }).textContent;

it('begins a provider with its vendor, and a pasted key goes into a Secret, never into the YAML', async () => {
  const written = show(<ProviderSetup name="" all={[]} />);
  fireEvent.click(screen.getByRole('button', { name: 'Anthropic' }));
  fireEvent.change(screen.getByLabelText('API key: value for a new Secret'), { target: { value: 'sk-secret' } });
  fireEvent.click(screen.getByRole('button', { name: 'Create the Secret: API key' }));
  await screen.findByText('The Secret anthropic is created.');
  fireEvent.click(screen.getByRole('button', { name: 'Add a model' }));
  fireEvent.change(screen.getByLabelText('Model 1'), { target: { value: 'small' } });
  fireEvent.change(screen.getByLabelText('Price of input of model 1'), { target: { value: '0.25' } });
  expect(yaml('model provider')).toContain('  name: default\n  namespace: default\nspec:\n  api: Anthropic\n  apiKeyRef:\n    name: anthropic\n    key: api-key\n  models:\n    - name: small\n      inputMicrosPerMillion: 250000\n');
  expect(yaml('model provider')).not.toContain('sk-secret');
  fireEvent.click(screen.getByRole('button', { name: 'Check with a dry run' }));
  await screen.findByText(/This would be created in default/);
  expect(written.map(({ path }) => path)).toEqual(['/api/namespaces/default/secrets', '/k8s/apis/nestor.dev/v1beta1/namespaces/default/modelproviders?dryRun=All']);
  expect(written[0]!.body).toEqual({ name: 'anthropic', key: 'api-key', value: 'sk-secret' });
});

it('has the fields of the cloud that serves the models', () => {
  show(<ProviderSetup name="" all={[]} />);
  expect(screen.queryByRole('group', { name: 'Access key ID' })).toBeNull();
  fireEvent.click(screen.getByRole('button', { name: 'Amazon Bedrock' }));
  expect(screen.getByRole('group', { name: 'Secret access key' })).toBeTruthy();
  expect(screen.queryByRole('group', { name: 'Service account key' })).toBeNull();
  expect(yaml('model provider')).toContain('    accessKey:\n      idRef:\n        name: aws-key-id\n        key: value\n');
  fireEvent.click(screen.getByRole('button', { name: 'Google Vertex AI' }));
  expect(screen.getByRole('group', { name: 'Service account key' })).toBeTruthy();
});

it('shows a schedule in words with its next times, and the author of a trigger', async () => {
  show(<TriggerSetup name="" all={[]} />);
  fireEvent.click(screen.getByRole('button', { name: 'On a schedule' }));
  await screen.findByText('Monday to Friday at 07:00 (UTC)');
  expect(screen.getByRole('region', { name: 'Next times' }).querySelectorAll('time').length).toBe(2);
  expect(yaml('trigger')).toContain('user: alice');
});

it('has the next times directly below the cron expression', () => {
  show(<TriggerSetup name="" all={[]} />);
  fireEvent.click(screen.getByRole('button', { name: 'On a schedule' }));
  const times = screen.getByRole('region', { name: 'Next times' });
  expect(times.previousElementSibling).toBe(screen.getByLabelText(/^Cron/).closest('.editor-field'));
});

it('shows the fields of a task or of a message, and keeps what was typed for the other', () => {
  show(<TriggerSetup name="" all={[]} />);
  fireEvent.change(screen.getByLabelText(/^Instruction/), { target: { value: 'Sum up.' } });
  expect(screen.queryByLabelText(/^Chat of the message/)).toBeNull();
  fireEvent.click(screen.getByRole('button', { name: 'A message to a chat' }));
  expect(screen.queryByLabelText(/^Instruction/)).toBeNull();
  fireEvent.change(screen.getByLabelText(/^Message/), { target: { value: 'Good morning.' } });
  expect(yaml('trigger')).toContain('  message:\n    content: Good morning.\n');
  expect(yaml('trigger')).not.toContain('task:');
  fireEvent.click(screen.getByRole('button', { name: 'A task of a role' }));
  expect(yaml('trigger')).toContain('    instruction: Sum up.\n');
  expect(yaml('trigger')).not.toContain('message:');
});

it('has accepted tools only for a tool server that exists', () => {
  show(<ToolServerSetup name="" all={[]} />);
  expect(screen.queryByLabelText(/^Accepted tools/)).toBeNull();
  cleanup();
  show(<ToolServerSetup name="search" all={[{ metadata: { name: 'search', namespace: 'default', uid: 'u', generation: 1, creationTimestamp: '' }, spec: { url: 'https://mcp.example.com' } }]} />);
  expect(screen.getByLabelText(/^Accepted tools/)).toBeTruthy();
});

it('shows the command that sends a webhook', () => {
  show(<TriggerSetup name="" all={[]} />);
  fireEvent.click(screen.getByRole('button', { name: 'For a webhook' }));
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'builds' } });
  expect(screen.getByRole('region', { name: 'Command' }).textContent).toContain('$NESTOR_GATEWAY/hooks/default/builds');
});

it('offers to accept changed tools', async () => {
  const conditions = [{ type: 'ToolsChanged', status: 'True' as const, reason: 'x', message: 'add differs.' }];
  show(<ToolServerSetup name="notes" all={[{ metadata: { name: 'notes', namespace: 'default', uid: 'u', creationTimestamp: '' }, spec: { url: 'http://notes' }, status: { toolsDigest: 'sha256:1', conditions } }]} />);
  fireEvent.click(screen.getByRole('button', { name: 'Accept the tools as they are now' }));
  await waitFor(() => expect(yaml('tool server')).toContain('acceptedToolsDigest: sha256:1'));
});

it('takes money as an amount, and does not overwrite what cannot be listed', () => {
  show(<QuotaSetup name="" all={[]} />);
  fireEvent.change(screen.getByLabelText(/^Cost/), { target: { value: '12.5' } });
  expect(yaml('quota')).toContain('maxCostMicros: 12500000');
  screen.getByText('You may not create quotas in this namespace.');
  cleanup();
  show(<QuotaSetup name="daily" all="forbidden" />);
  screen.getByText('forbidden');
});

it('shows the fields of the source of a trigger', () => {
  show(<TriggerSetup name="" all={[]} />);
  const fields = () => ['Cron', 'Format', 'Fires when'].filter((name) => screen.queryByLabelText(new RegExp(`^${name}`)));
  expect(fields()).toEqual(['Cron']);
  fireEvent.click(screen.getByRole('button', { name: 'For a webhook' }));
  expect(fields()).toEqual(['Format']);
  expect(yaml('trigger')).not.toContain('schedule:');
  fireEvent.click(screen.getByRole('button', { name: 'When an object changes' }));
  expect(fields()).toEqual(['Fires when']);
});

it('names what is missing while a button cannot be used', () => {
  show(<ProviderSetup name="" all={[]} />);
  const check = screen.getByRole('button', { name: 'Check with a dry run' }) as HTMLButtonElement;
  expect(check.disabled).toBe(true);
  screen.getByText('The model provider needs a name before it can be checked.');
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'default' } });
  expect(check.disabled).toBe(false);
  expect(screen.queryByText(/needs a name/)).toBeNull();
  const hint = 'Type the name of the Secret and the key for the value first.';
  fireEvent.change(screen.getByLabelText('API key: value for a new Secret'), { target: { value: 'sk-secret' } });
  screen.getByText(hint);
  fireEvent.change(screen.getByLabelText(/^API key apiKeyRef/), { target: { value: 'model' } });
  fireEvent.change(screen.getByLabelText('API key: key in the Secret'), { target: { value: 'api-key' } });
  expect(screen.queryByText(hint)).toBeNull();
});
