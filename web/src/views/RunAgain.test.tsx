// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Person } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { aTask } from '../testing';
import { RunAgain } from './RunAgain';

// jsdom has dialogs that cannot be shown.
beforeEach(() => {
  HTMLDialogElement.prototype.showModal = vi.fn();
  HTMLDialogElement.prototype.close = vi.fn();
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

/** Asks to run a tool call again; the returned list has what was created. */
function ask(args: string) {
  const written: string[] = [];
  vi.stubGlobal('fetch', async (_path: string, init?: RequestInit) => {
    written.push(init?.body as string);
    return new Response('{}');
  });
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default' } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  const task = aTask('count', { spec: { type: 'Tool', role: undefined, tool: 'add', arguments: JSON.parse(args) as Record<string, unknown> } });
  render(
    <SiteContext value={site}>
      <RunAgain task={task} />
    </SiteContext>,
  );
  fireEvent.click(screen.getByRole('button', { name: 'Run again' }));
  return written;
}

it('creates a copy of a task with exact numbers', async () => {
  const written = ask('{"n": 9007199254740991}');
  const buttons = screen.getAllByRole('button', { name: 'Run again', hidden: true });
  fireEvent.click(buttons.at(-1)!);
  await waitFor(() => expect(written).toHaveLength(1));
  expect(written[0]).toContain('"arguments":{"n":9007199254740991}');
});

it('shows the command instead of a copy with a rounded number', () => {
  const written = ask('{"list": [{"n": 9007199254740993}]}');
  expect(screen.getByRole('region', { name: 'Command', hidden: true }).textContent).toContain('kubectl get agenttasks.nestor.dev count -n default -o yaml');
  expect(screen.queryByText('YAML of the new task')).toBeNull();
  // Only the one that opened the dialog.
  expect(screen.getAllByRole('button', { name: 'Run again', hidden: true })).toHaveLength(1);
  expect(written).toEqual([]);
});
