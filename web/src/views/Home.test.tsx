// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { createRef } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Person } from '../api/types';
import { Composer } from '../parts/Composer';
import { SiteContext, type Site } from '../state/context';
import { placeOf } from '../state/drafts';
import { Store } from '../state/store';
import { Home } from './Home';

beforeEach(() => vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: vi.fn(), removeEventListener: vi.fn() })));

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const input = () => screen.getByRole('textbox') as HTMLTextAreaElement;
const composer = (namespace: string, chat: string, onSend = async () => true) => render(<Composer place={placeOf(namespace, chat)} onSend={onSend} placeholder="Write" input={createRef()} />);

it('keeps what was typed in each chat until it is sent', async () => {
  composer('default', 'one');
  fireEvent.change(input(), { target: { value: 'Half a thou' } });
  cleanup();
  composer('default', 'two');
  expect(input().value).toBe('');
  cleanup();
  composer('other', 'one');
  expect(input().value).toBe('');
  cleanup();
  composer('default', 'one');
  expect(input().value).toBe('Half a thou');
  fireEvent.submit(input().form!);
  await waitFor(() => expect(input().value).toBe(''));
});

it('keeps what could not be sent', async () => {
  composer('default', 'one', async () => false);
  fireEvent.change(input(), { target: { value: 'Again' } });
  fireEvent.submit(input().form!);
  await waitFor(() => expect((screen.getByRole('button', { name: 'Send' }) as HTMLButtonElement).disabled).toBe(false));
  expect(input().value).toBe('Again');
});

it('moves a first message that could not be sent to the chat that was created for it', async () => {
  const created: { metadata: { name: string; annotations: Record<string, string> } }[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    if (path.includes('agentmessages')) return new Response(JSON.stringify({ message: 'the webhook is down' }), { status: 500 });
    const body = JSON.parse(init!.body as string) as (typeof created)[0];
    created.push(body);
    return new Response(JSON.stringify({ ...body, metadata: { ...body.metadata, uid: 'u', creationTimestamp: '' } }));
  });
  const toast = vi.fn();
  const person = { user: 'alice', namespace: 'default', may: { createChats: true, createMessages: true } } as Person;
  const site: Site = { store: new Store(), person, namespace: 'default', toast, roles: (name) => ({ name: name ?? '' }) };
  render(
    <SiteContext value={site}>
      <Home onMenu={() => undefined} />
    </SiteContext>,
  );
  fireEvent.change(input(), { target: { value: 'Move the store' } });
  fireEvent.submit(input().form!);
  await waitFor(() => expect(toast).toHaveBeenCalledWith(expect.stringContaining('the webhook is down'), 'error'));
  await waitFor(() => expect(input().value).toBe(''));
  const { name, annotations } = created[0]!.metadata;
  expect(annotations).toEqual({ 'nestor.dev/first-words': 'Move the store' });
  cleanup();
  composer('default', name);
  expect(input().value).toBe('Move the store');
});
