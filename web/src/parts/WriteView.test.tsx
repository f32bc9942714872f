// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { WorkspaceFile } from '../api/history';
import { SiteContext, type Site } from '../state/context';
import { Arguments } from './Arguments';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const site = { namespace: 'default', person: { may: {} } } as unknown as Site;
const owner = { workspace: 'chat.one', agent: 'subagent.one-1', waits: true };
const file = (more: Partial<WorkspaceFile>): WorkspaceFile => ({ path: 'docs/a.md', state: 'Text', live: true, readTime: '2026-01-01T10:00:00Z', ...more });

function show(body: unknown, { status = 200, content = 'one\nTwo\nthree\n', ...more }: { status?: number; content?: string; cwd?: string } = {}) {
  const fetched = vi.fn().mockImplementation(() => Promise.resolve(new Response(JSON.stringify(body), { status })));
  vi.stubGlobal('fetch', fetched);
  const { container } = render(<SiteContext value={site}>{<Arguments tool="write" text={JSON.stringify({ path: 'a.md', content, ...more })} replaces={owner} />}</SiteContext>);
  const lines = () => [...container.querySelectorAll('.diff-line')].map((line) => line.textContent);
  return { container, fetched, lines };
}

it('compares a call of write with the file that the agent would replace', async () => {
  const { container, fetched, lines } = show(file({ content: 'one\ntwo\n<b>3</b>\n' }), { cwd: 'docs' });
  await screen.findByText(/Compared with the file at \d\d:\d\d:\d\d\. It can change until the call runs\./);
  expect(fetched.mock.calls[0]![0]).toBe('/k8s/apis/history.nestor.dev/v1beta1/namespaces/default/workspacechanges/chat.one/file?path=a.md&workingDir=docs&agent=subagent.one-1');
  expect(lines()).toEqual(['1 one', '2-two', '3-<b>3</b>', '2+Two', '3+three']);
  expect(container.querySelector('b')).toBeNull();
  expect(container.textContent).toContain('2 lines added, 2 removed');
  expect(container.querySelector('.whole-content')?.textContent).toContain('one\nTwo\nthree\n');
  fireEvent.click(screen.getByRole('button', { name: 'Read again' }));
  await vi.waitFor(() => expect(fetched).toHaveBeenCalledTimes(2), 60_000);
});

it('shows what has not changed only in part, and invisible characters', async () => {
  const long = Array.from({ length: 100 }, (_, i) => `line ${i}\n`).join('');
  const { lines } = show(file({ content: long }), { content: long.replace('line 50\n', 'line\u202e 50\n') });
  await screen.findByText(/Compared/);
  expect(lines()).toHaveLength(8);
  expect(lines()).toContain('51+line\\u202e 50');
});

it('says that nothing changes', async () => {
  const { lines } = show(file({ content: 'one\nTwo\nthree\n' }));
  await screen.findByText(/already has exactly this content/);
  expect(lines()).toEqual([]);
});

it('shows that the file becomes empty', async () => {
  const { lines } = show(file({ content: 'one\n' }), { content: '' });
  await screen.findByText(/Compared/);
  expect(lines()).toEqual(['1-one']);
});

it('says since when the file was kept', async () => {
  const { lines } = show(file({ live: false, content: 'one\nTwo\n' }));
  await screen.findByText(/The workspace is not running: compared with the file that was kept on 01\/01\/2026/);
  expect(lines()).toEqual(['1 one', '2 Two', '3+three']);
});

it.each<[string, unknown, number, RegExp]>([
  ['a new file', file({ state: 'Missing' }), 200, /New file: at \d\d:\d\d:\d\d there was no file/],
  ['a new file of a workspace that starts', file({ state: 'Missing', live: false }), 200, /New file: the workspace starts without/],
  ['a binary file', file({ state: 'Binary' }), 200, /is not text/],
  ['a large file', file({ state: 'TooLarge' }), 200, /more than 1 MiB/],
  ['a stopped workspace', file({ state: 'Unavailable', live: false, message: 'the workspace is not running' }), 200, /cannot be read: the workspace is not running\./],
  ['no right', { message: 'workspacechanges.history.nestor.dev "chat.one" is forbidden: User "bob" cannot get resource "workspacechanges/file" in API group "history.nestor.dev" in the namespace "default"' }, 403, /cannot be read: You may not get the files of a workspace in default\./],
  ['an older operator', { message: 'the server could not find the requested resource' }, 404, /cannot be read: The server could not find the requested resource\./],
])('shows the whole content, and why, for %s', async (_, body, status, why) => {
  const { lines } = show(body, { status });
  await screen.findByText(why);
  expect(lines()).toEqual(['+one', '+Two', '+three']);
});

it('keeps what was read when the call was decided', async () => {
  const fetched = vi.fn().mockImplementation(() => Promise.resolve(new Response(JSON.stringify(file({ content: 'old\n' })))));
  vi.stubGlobal('fetch', fetched);
  const text = JSON.stringify({ path: 'a.md', content: 'new\n' });
  const { container, rerender } = render(<SiteContext value={site}>{<Arguments tool="write" text={text} replaces={owner} />}</SiteContext>);
  await screen.findByText(/Compared/);
  rerender(<SiteContext value={site}>{<Arguments tool="write" text={text} replaces={{ ...owner, waits: false }} />}</SiteContext>);
  expect([...container.querySelectorAll('.diff-line')].map((line) => line.textContent)).toEqual(['1-old', '1+new']);
  expect(screen.queryByRole('button', { name: 'Read again' })).toBeNull();
  expect(container.textContent).not.toContain('It can change');
  expect(fetched).toHaveBeenCalledTimes(1);
});

it('asks nothing about other calls', () => {
  const fetched = vi.fn();
  vi.stubGlobal('fetch', fetched);
  render(<SiteContext value={site}>{<Arguments tool="patch" text={JSON.stringify({ path: 'a', edits: [{ old_string: 'x', new_string: 'y' }] })} replaces={owner} />}</SiteContext>);
  render(<Arguments tool="write" text={JSON.stringify({ path: 'a', content: 'x' })} />);
  expect(fetched).not.toHaveBeenCalled();
});
