// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Ask, Person } from '../api/types';
import type { Request } from '../model/tree';
import { SiteContext, type Site } from '../state/context';
import { focusNextRequest } from '../state/requests';
import { Store } from '../state/store';
import { Approval } from './Approval';

const request: Request = { message: 'm', task: 'one-1', agent: 'one-1', call: 'w1', tool: 'notes__add', arguments: '{"title":"A"}', whole: true, digest: 'sha256:1', state: 'open', who: 'Scribe' };
const toast = vi.fn();
let written: string[] = [];
let approvals: { decision: string; argumentsDigest: string; arguments?: string }[] = [];

beforeEach(() => {
  written = [];
  approvals = [];
  toast.mockReset();
  Element.prototype.scrollIntoView = vi.fn();
  vi.stubGlobal('fetch', async (_path: string, init?: RequestInit) => {
    if (init?.method !== 'POST') return new Response('{"message":"No history."}', { status: 503 });
    const { approval } = (JSON.parse(init.body as string) as { spec: { approval: (typeof approvals)[number] } }).spec;
    written.push(approval.decision);
    approvals.push(approval);
    return new Response('{"metadata":{"name":"d","uid":"d"},"spec":{}}', { status: 201 });
  });
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function show(changed: Partial<Request> = {}, createMessages = true, ask?: Ask) {
  const site = { store: new Store(), person: { user: 'alice', namespace: 'default', may: { createMessages } } as Person, namespace: 'default', toast, roles: (name?: string) => ({ name: name ?? '' }) } as Site;
  render(<SiteContext value={site}>{<Approval chat="one" request={{ ...request, ...changed }} ask={ask} />}</SiteContext>);
  expect(focusNextRequest()).toBe((changed.state ?? 'open') === 'open');
  return screen.getByRole('region', { name: 'Approval of notes__add' });
}

it('a request says why policies require it, with the call', () => {
  const reasons = ['Required by policy team/writes, rule people: Ask first.', "The agent's context is untrusted (since call c1 of read)"];
  show({ reasons });
  const list = screen.getAllByRole('listitem');
  expect(list.map(({ textContent }) => textContent)).toEqual(reasons);
  expect(list[0]!.closest('div')!.textContent).toContain('title');
});

it('a requester reads that a policy may be the reason', () => {
  show({}, true, { kind: 'Approval', task: 'one-1', call: 'w1', denyRequesters: true, barred: 'requester' });
  expect(screen.getByRole('note').textContent).toMatch(/^Another person must decide this call: its role or a policy does not allow requesters to decide/);
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Approve' }).disabled).toBe(true);
});

describe('edited arguments', () => {
  const open = (editable: boolean) => show({}, true, { kind: 'Approval', task: 'one-1', call: 'w1', editable });

  it('are sent as they were typed, with the digest of the call that was shown', async () => {
    open(true);
    const button = screen.getByRole<HTMLButtonElement>('button', { name: 'Approve with these arguments', hidden: true });
    expect(button.disabled).toBe(true);
    const field = screen.getByRole('textbox', { name: 'Arguments', hidden: true });
    fireEvent.change(field, { target: { value: '{"title": 7' } });
    expect(button.disabled).toBe(true);
    expect(screen.getByRole('alert', { hidden: true }).textContent).toBe('This is not JSON.');
    fireEvent.change(field, { target: { value: '{"title": "B", "n": 12345678901234567890}\n' } });
    expect(screen.getByRole('region', { name: "Difference to the model's arguments", hidden: true }).textContent).toContain('-  "title": "A"');
    fireEvent.click(button);
    await vi.waitFor(() => expect(approvals).toEqual([expect.objectContaining({ decision: 'Approve', argumentsDigest: 'sha256:1', arguments: '{"title": "B", "n": 12345678901234567890}' })]));
  });

  it('are offered only if the call can be edited', () => {
    open(false);
    expect(screen.queryByText('Edit the arguments')).toBeNull();
  });
});

it('a decision shows the arguments that it changed', () => {
  const card = show({ state: 'approved', user: 'bob', edited: '{"title":"B"}' });
  expect(card.textContent).toContain('Approved with changed arguments by bob');
  expect(card.textContent).not.toContain('"B"');
  fireEvent.click(screen.getByRole('button', { expanded: false }));
  expect(card.textContent).toMatch(/Changed arguments.*B/);
});

describe('the keys of a request', () => {
  it('decide the request that has the focus, once', async () => {
    const card = show();
    expect(document.activeElement).toBe(card);
    fireEvent.keyDown(card, { key: 'a' });
    fireEvent.keyDown(card, { key: 'd' });
    await vi.waitFor(() => expect(written).toEqual(['Approve']));
    cleanup();
    fireEvent.keyDown(show(), { key: 'd' });
    await vi.waitFor(() => expect(written).toEqual(['Approve', 'Deny']));
  });

  it('are text in the comment, and do nothing with a modifier, held down, or without the right', () => {
    const card = show();
    fireEvent.keyDown(screen.getByLabelText('Comment for the agent'), { key: 'a' });
    for (const held of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }, { repeat: true }]) fireEvent.keyDown(card, { key: 'a', ...held });
    cleanup();
    fireEvent.keyDown(show({}, false), { key: 'a' });
    expect(written).toEqual([]);
  });

  it('decide nothing that is not loaded as a whole', async () => {
    const card = show({ whole: false, arguments: '{"title":' });
    await screen.findByRole('alert');
    for (const key of ['a', 'd']) fireEvent.keyDown(card, { key });
    expect(written).toEqual([]);
    expect(toast).toHaveBeenCalledWith(expect.stringContaining('not shown in full'), 'error');
  });

  it('decide nothing that is not all in sight', () => {
    const card = show();
    const below = vi.spyOn(Element.prototype, 'getBoundingClientRect').mockReturnValue({ top: 10, bottom: window.innerHeight + 200 } as DOMRect);
    for (const key of ['a', 'd']) fireEvent.keyDown(card, { key });
    below.mockRestore();
    vi.spyOn(Element.prototype, 'clientWidth', 'get').mockReturnValue(100);
    vi.spyOn(Element.prototype, 'scrollHeight', 'get').mockReturnValue(900);
    card.querySelector<HTMLElement>('dd')!.style.overflowY = 'auto';
    fireEvent.keyDown(card, { key: 'a' });
    expect(written).toEqual([]);
    expect(toast).toHaveBeenCalledTimes(3);
  });
});
