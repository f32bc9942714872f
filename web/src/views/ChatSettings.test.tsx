// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Chat, Person } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { ChatSettings } from './ChatSettings';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const chat = (version: string, more: Partial<Chat['spec']> = {}): Chat => ({
  metadata: { name: 'talk', namespace: 'default', uid: 'u', generation: 1, resourceVersion: version, finalizers: ['f'], creationTimestamp: '' },
  spec: { role: 'orchestrator', limits: { maxDepth: 2 }, ...more },
  status: { conditions: [{ type: 'Ready', status: 'False', reason: 'RoleNotFound', message: 'Create the AgentRole "x".' }] },
});

it('changes a chat after a dry run; a later status is no conflict', async () => {
  const written: { query: string; metadata: Record<string, unknown> }[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (path.includes('/events?')) return new Response(JSON.stringify({ items: [{ type: 'Warning', reason: 'RoleNotFound', message: 'No role.', count: 3, time: '2026-01-01T00:00:00Z' }] }));
    if (init?.method !== 'PUT') return new Response(JSON.stringify({ items: [], roles: [], tools: [], workspaceTools: [] }));
    const body = JSON.parse(init.body as string) as Chat;
    written.push({ query: path.replace(/^.*agentchats/, ''), metadata: { ...body.metadata } });
    return new Response(JSON.stringify({ ...body, metadata: { ...body.metadata, uid: 'u', generation: 2 } }));
  });
  const site = { namespace: 'default', person: { user: 'alice', may: { 'update/agentchats': true } } as unknown as Person, toast: () => undefined } as unknown as Site;
  const page = (shown: Chat) => (
    <SiteContext value={site}>
      <ChatSettings chat={shown} />
    </SiteContext>
  );
  const { rerender } = render(page(chat('7')));
  screen.getByText('Create the AgentRole "x".');
  await screen.findByText('No role.');
  fireEvent.change(screen.getByLabelText(/^Levels of agents/), { target: { value: '3' } });
  fireEvent.click(screen.getByRole('button', { name: 'Check with a dry run' }));
  const apply = await screen.findByRole('button', { name: 'Apply to default' });
  rerender(page(chat('8')));
  fireEvent.click(apply);
  await waitFor(() => expect(written).toHaveLength(2));
  expect(written.map(({ query, metadata }) => [query, metadata.resourceVersion, metadata.finalizers])).toEqual([
    ['/talk?dryRun=All', '7', ['f']],
    ['/talk', '8', ['f']],
  ]);
  await waitFor(() => expect(screen.getByLabelText<HTMLInputElement>(/^Levels of agents/).value).toBe('3'));
});

describe('a write that meets a newer version', () => {
  // The API server has newer than the page: only version 9 may be replaced.
  const write = async (newer: Chat) => {
    const versions: unknown[] = [];
    vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
      if (init?.method === 'PUT') {
        const body = JSON.parse(init.body as string) as Chat;
        versions.push(body.metadata.resourceVersion);
        return body.metadata.resourceVersion === '9' ? new Response(JSON.stringify(body)) : new Response(JSON.stringify({ reason: 'Conflict', message: 'The object has been modified.' }), { status: 409 });
      }
      return new Response(JSON.stringify(path.endsWith('/agentchats/talk') ? newer : { items: [], roles: [], tools: [], workspaceTools: [] }));
    });
    const site = { namespace: 'default', person: { user: 'alice', may: { 'update/agentchats': true } } as unknown as Person } as unknown as Site;
    const page = (shown: Chat) => (
      <SiteContext value={site}>
        <ChatSettings chat={shown} />
      </SiteContext>
    );
    const { rerender } = render(page(chat('7')));
    fireEvent.change(screen.getByLabelText(/^Levels of agents/), { target: { value: '3' } });
    fireEvent.click(screen.getByRole('button', { name: 'Check with a dry run' }));
    return { versions, show: (shown: Chat) => rerender(page(shown)) };
  };

  it('replaces it, if only something else than the spec changed', async () => {
    const newer = chat('9');
    newer.metadata.annotations = { 'nestor.dev/title': 'Talk' };
    const { versions, show } = await write(newer);
    await screen.findByRole('button', { name: 'Apply to default' });
    expect(versions).toEqual(['7', '9']);
    show(newer);
    screen.getByRole('button', { name: 'Apply to default' });
    expect(screen.getByLabelText('Changes of the chat').textContent).not.toMatch(/[-+] *nestor.dev.title/);
  });

  it('is a conflict, if the spec changed', async () => {
    const newer = chat('9', { limits: { maxDepth: 5 } });
    newer.metadata.generation = 2;
    const { versions } = await write(newer);
    await screen.findByText('The object has been modified.');
    expect(versions).toEqual(['7']);
  });

  it('is a conflict, if the chat is another one with the same name', async () => {
    const newer = chat('9');
    newer.metadata.uid = 'v';
    const { versions } = await write(newer);
    await screen.findByText('The object has been modified.');
    expect(versions).toEqual(['7']);
  });
});

it('has the receivers of notifications, with the key on in quotes', () => {
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify({ items: [] })));
  const site = { namespace: 'default', person: { user: 'alice', may: {} } as unknown as Person } as unknown as Site;
  render(
    <SiteContext value={site}>
      <ChatSettings chat={chat('7')} />
    </SiteContext>,
  );
  const yaml = () => screen.getByRole('region', { name: 'YAML of the chat' }).textContent;
  const type = (label: string, value: string) => fireEvent.change(screen.getByLabelText(label), { target: { value } });
  fireEvent.click(screen.getByRole('button', { name: 'Add a receiver' }));
  fireEvent.click(screen.getByRole('checkbox', { name: 'Failed' }));
  type('URL', 'alerts');
  type('URL of receiver 1: key in the Secret', 'slack');
  expect(yaml()).toContain('  notify:\n    - "on":\n        - Waiting\n        - Failed\n      slack:\n        urlKeyRef:\n          name: alerts\n          key: slack\n');
  type('Kind', 'webhook');
  type('Key of the signatures', 'alerts');
  expect(yaml()).toContain('      webhook:\n        urlKeyRef:\n          name: alerts\n          key: slack\n        secretKeyRef:\n          name: alerts\n');
  fireEvent.click(screen.getByRole('button', { name: 'Remove receiver 1' }));
  expect(yaml()).not.toContain('notify');
});

it('says that a workspace cannot change', () => {
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify({ items: [] })));
  const site = { namespace: 'default', person: { user: 'alice', may: {} } as unknown as Person } as unknown as Site;
  render(
    <SiteContext value={site}>
      <ChatSettings chat={chat('7', { workspace: { git: { url: 'https://git.example.com/a.git' } } })} />
    </SiteContext>,
  );
  screen.getByText('git.example.com/a.git');
  expect(screen.queryByLabelText(/^Git repository/)).toBeNull();
});
