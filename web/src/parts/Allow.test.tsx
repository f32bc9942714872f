// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Chat } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { AllowForm, Allowances } from './Allow';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

describe('allowing a tool', () => {
  const args = JSON.stringify({ path: 'docs/a.md', content: 'x' });

  it('is restricted only by what was chosen', () => {
    const allowed = vi.fn();
    render(<AllowForm tool="write" args={args} disabled={false} onAllow={allowed} />);
    fireEvent.click(screen.getByRole('button', { name: 'Approve and allow every call' }));
    expect(allowed).toHaveBeenLastCalledWith([]);
    fireEvent.click(screen.getByRole('checkbox', { name: 'path' }));
    fireEvent.change(screen.getByLabelText('Pattern of path'), { target: { value: 'docs/*.md' } });
    fireEvent.click(screen.getByRole('button', { name: 'Approve and allow these calls' }));
    expect(allowed).toHaveBeenLastCalledWith([{ name: 'path', pattern: 'docs/*.md' }]);
    fireEvent.change(screen.getByLabelText('Pattern of path'), { target: { value: '' } });
    expect(screen.getByRole('button', { name: 'Approve and allow these calls' })).toHaveProperty('disabled', true);
  });

  it('is not possible for those who cannot decide', () => {
    render(<AllowForm tool="write" args={args} disabled onAllow={vi.fn()} />);
    expect(screen.getByRole('button', { name: 'Approve and allow every call' })).toHaveProperty('disabled', true);
  });
});

describe('the allowances of a chat', () => {
  const chat = { metadata: { name: 'one' }, spec: {}, status: { allowances: [{ name: 'one-x', tool: 'write', arguments: [{ name: 'path', pattern: 'docs/*' }], user: 'alice' }] } } as unknown as Chat;
  const site = (createMessages: boolean) => ({ namespace: 'default', person: { user: 'bob', may: { createMessages } }, store: { put: vi.fn() }, toast: vi.fn() }) as unknown as Site;

  it('are revoked with a message', async () => {
    const fetched = vi.fn().mockResolvedValue(new Response('{}', { status: 201 }));
    vi.stubGlobal('fetch', fetched);
    render(<SiteContext value={site(true)}>{<Allowances chat={chat} />}</SiteContext>);
    expect(screen.getByRole('list', { name: 'Allowances' }).textContent).toContain('alice allowed calls of write with path docs/*');
    fireEvent.click(screen.getByRole('button', { name: 'Revoke calls of write with path docs/*' }));
    await vi.waitFor(() => expect(fetched).toHaveBeenCalled(), 60_000);
    expect(JSON.parse(fetched.mock.calls[0]![1].body as string).spec).toEqual({ chat: 'one', user: 'bob', revoke: { allowance: 'one-x' } });
  });

  it('are shown to those who may not revoke them', () => {
    render(<SiteContext value={site(false)}>{<Allowances chat={chat} />}</SiteContext>);
    expect(screen.getByText(/1 allowance in this chat/)).toBeTruthy();
    expect(screen.queryByRole('button')).toBeNull();
  });
});
