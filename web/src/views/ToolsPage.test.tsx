// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { act, cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Person, Task, ToolServer } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { ToolsPage } from './ToolsPage';

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const calculator = { name: 'calculator', description: 'Computes. With care.', readOnly: true, inputSchema: { type: 'object', properties: { expression: { type: 'string', description: 'What to compute.' }, digits: { type: 'integer' } }, required: ['expression'] } };
const read = { name: 'read', description: 'Reads a file.', readOnly: true, inputSchema: { type: 'object', properties: { path: { type: 'string' } } } };

/** Shows the page; the returned list has the tasks that were created. The status of each is that of the server. */
function show(servers: ToolServer[], server: { status?: Task['status']; refuse?: boolean; may?: boolean } = {}) {
  const created: Task[] = [];
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    const json = (value: unknown) => new Response(JSON.stringify(value));
    if (path.endsWith('/api/catalog')) return json({ roles: [], tools: [calculator], workspaceTools: [read] });
    if (path.includes('/toolservers')) return json({ items: servers });
    if (init?.method === 'POST') {
      if (server.refuse) return new Response('{"message": "agenttasks is forbidden"}', { status: 403 });
      created.push(JSON.parse(init.body as string) as Task);
      return json(created.at(-1));
    }
    return json({ ...created.at(-1), status: server.status });
  });
  const site: Site = { store: new Store(), person: { user: 'alice', groups: ['platform'], namespace: 'default', may: { createTasks: server.may ?? true } as Person['may'] } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  render(
    <SiteContext value={site}>
      <ToolsPage onMenu={() => undefined} />
    </SiteContext>,
  );
  return created;
}

async function open(name: string) {
  const details = (await screen.findByText(name, { selector: 'summary code' })).closest('details')!;
  details.open = true;
  fireEvent(details, new Event('toggle'));
  return within(details);
}

const notes = (more: Partial<NonNullable<ToolServer['status']>> = {}): ToolServer => ({ metadata: { name: 'notes', namespace: 'default', uid: 'n', creationTimestamp: '' }, spec: { url: 'http://notes' }, status: { tools: [{ name: 'add', description: 'Adds a note.' }], ...more } });

it('runs a tool with the arguments of the form, and shows the result', async () => {
  const created = show([], { status: { phase: 'Success', result: { summary: '391' }, durationSeconds: 12 } });
  const tool = await open('calculator');
  const run = tool.getByRole('button', { name: 'Run' }) as HTMLButtonElement;
  fireEvent.change(tool.getByLabelText(/^digits/), { target: { value: 'x' } });
  expect(run.disabled).toBe(true);
  tool.getByText('This is not a number.');
  fireEvent.change(tool.getByLabelText(/^digits/), { target: { value: '2' } });
  fireEvent.change(tool.getByLabelText(/^expression/), { target: { value: '17 * 23' } });
  fireEvent.click(run);
  within(await tool.findByRole('region', { name: /^Result of try-calculator-/ })).getByText(/try-calculator-/);
  await tool.findByText('391');
  expect(created[0]).toMatchObject({ kind: 'AgentTask', spec: { type: 'Tool', tool: 'calculator', user: 'alice', arguments: { expression: '17 * 23', digits: 2 } } });
  expect(created[0]!.spec.workspace).toBeUndefined();
});

it('calls a tool that changes something only after it was confirmed', async () => {
  const created = show([notes({ tools: [{ name: 'add', inputSchema: { type: 'object', properties: { title: { type: 'string' } } } }] })], { status: { phase: 'Failed', error: { kind: 'ToolFailed', message: 'No <b>room</b>.' } } });
  const tool = await open('notes__add');
  const run = tool.getByRole('button', { name: 'Run' }) as HTMLButtonElement;
  fireEvent.change(tool.getByLabelText(/^title/), { target: { value: 'One' } });
  expect(run.disabled).toBe(true);
  fireEvent.submit(run.form!);
  fireEvent.click(tool.getByRole('checkbox'));
  expect(created).toEqual([]);
  fireEvent.click(run);
  await tool.findByText('ToolFailed: No <b>room</b>.');
  expect(created.map(({ spec }) => [spec.arguments, spec.user, spec.userGroups])).toEqual([[{ title: 'One' }, 'alice', ['platform']]]);
});

it('takes JSON for a tool without a known schema', async () => {
  const created = show([notes({ tools: [{ name: 'add', schemaOmitted: true }] })], { status: { waiting: { kind: 'Question', text: 'Which?' }, phase: 'Waiting' } });
  const tool = await open('notes__add');
  fireEvent.click(tool.getByRole('checkbox'));
  tool.getByText(/^The schema of the arguments is not shown/);
  const text = tool.getByLabelText(/^Arguments, as JSON/);
  fireEvent.change(text, { target: { value: '[]' } });
  tool.getByText('The arguments must be a JSON object.');
  fireEvent.change(text, { target: { value: '{"deep": {"x": 1}}' } });
  fireEvent.click(tool.getByRole('button', { name: 'Run' }));
  const link = await tool.findByRole('link', { name: 'Answer on the page of the run' });
  expect(link.getAttribute('href')).toBe(`/default/runs/${created[0]!.metadata.name}`);
  expect(created[0]!.spec.arguments).toEqual({ deep: { x: 1 } });
});

it('gives workspace tools a workspace', async () => {
  const created = show([]);
  const tool = await open('read');
  fireEvent.change(tool.getByLabelText('Workspace'), { target: { value: 'git' } });
  fireEvent.change(tool.getByLabelText('URL of the repository'), { target: { value: 'https://git.example.com/a.git' } });
  fireEvent.click(tool.getByRole('button', { name: 'Run' }));
  await waitFor(() => expect(created).toHaveLength(1));
  expect(created[0]!.spec.workspace).toEqual({ git: { url: 'https://git.example.com/a.git' } });
});

it('shows the refusal of the API server', async () => {
  show([], { refuse: true });
  const tool = await open('calculator');
  fireEvent.click(tool.getByRole('button', { name: 'Run' }));
  await tool.findByText('agenttasks is forbidden');
});

it('has no form for people who may not create tasks, and none for withheld tools', async () => {
  show([notes({ tools: [{ name: 'add', withheld: true }] })], { may: false });
  expect((await open('calculator')).queryByRole('button', { name: 'Run' })).toBeNull();
  (await open('notes__add')).getByText(/withheld from agents/);
});

/** Shows the page with a server of which the list changes; the returned list has the paths that were read. */
function showPolled(lists: (ToolServer[] | 'fails')[], edit?: string) {
  vi.useFakeTimers();
  const read: string[] = [];
  vi.stubGlobal('fetch', async (path: string) => {
    read.push(path);
    if (path.endsWith('/api/catalog')) return new Response(JSON.stringify({ roles: [], tools: [calculator], workspaceTools: [] }));
    const items = lists.length > 1 ? lists.shift() : lists[0];
    return items === 'fails' ? new Response('{"message": "the server is restarting"}', { status: 503 }) : new Response(JSON.stringify({ items }));
  });
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default', may: {} as Person['may'] } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  render(
    <SiteContext value={site}>
      <ToolsPage onMenu={() => undefined} edit={edit} />
    </SiteContext>,
  );
  return read;
}

const later = (milliseconds: number) => act(() => vi.advanceTimersByTimeAsync(milliseconds));

it('shows when the operator has checked a new tool server, and reads the built-in tools once', async () => {
  const created = notes({ tools: undefined });
  const read = showPolled([[created], [notes({ conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] })]]);
  await later(0);
  within(screen.getByRole('region', { name: 'Tools: notes' })).getByText('Not checked yet');
  await later(4000);
  const panel = within(screen.getByRole('region', { name: 'Tools: notes' }));
  panel.getByText('Ready');
  panel.getByText('notes__add');
  expect(read.filter((path) => path.endsWith('/api/catalog')).length).toBe(1);
});

it('keeps what was typed when the list cannot be read for a while', async () => {
  showPolled([[], 'fails'], '');
  await later(0);
  fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'search' } });
  await later(8000);
  expect((screen.getByLabelText('Name') as HTMLInputElement).value).toBe('search');
});
