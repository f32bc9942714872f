// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { WorkspaceChanges } from '../api/history';
import { SiteContext, type Site } from '../state/context';
import { Changes } from './Changes';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const site = { namespace: 'default', person: { may: {} } } as unknown as Site;

function show(status: number, body: unknown) {
  const fetched = vi.fn().mockImplementation(() => Promise.resolve(new Response(JSON.stringify(body), { status })));
  vi.stubGlobal('fetch', fetched);
  const { container } = render(<SiteContext value={site}>{<Changes of="chat.one" />}</SiteContext>);
  return { container, fetched };
}

const changes: WorkspaceChanges = {
  source: 'Git',
  baseCommit: '0123456789abcdef0123',
  digest: 'feedc0de'.repeat(8),
  captureTime: '2026-01-01T10:00:00Z',
  live: false,
  files: [
    { path: 'a.go', change: 'Modified', additions: 1, deletions: 1 },
    { path: 'new/b.go', from: 'b.go', change: 'Renamed' },
    { path: 'pic.png', change: 'Added', binary: true },
    { path: 'evil\u202e.txt', change: 'Deleted', additions: 0, deletions: 2 },
  ],
  diff: 'diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -7 +7 @@ func f()\n-old <b>x</b>\n+new\n',
};

describe('the changes of a workspace', () => {
  it('are files with their diffs', async () => {
    const { container, fetched } = show(200, changes);
    await screen.findByRole('heading', { name: /4 files changed/ });
    expect(fetched.mock.calls[0]![0]).toBe('/k8s/apis/history.nestor.dev/v1beta1/namespaces/default/workspacechanges/chat.one');
    expect([...container.querySelectorAll('.changed-path')].map((path) => path.textContent)).toEqual(['a.go', 'b.go → new/b.go', 'pic.png', 'evil\\u202e.txt']);
    expect([...container.querySelectorAll('.diff-line')].map((line) => line.textContent)).toEqual(['7-old <b>x</b>', '7+new']);
    expect(container.querySelector('b')).toBeNull();
    expect(container.textContent).toContain('This file is not text.');
    expect(container.textContent).toContain('0123456789ab');
    expect(container.querySelector('.digest')!.textContent).toBe(`sha256 ${'feedc0de'.repeat(8)}`);
    expect(container.textContent).toContain('the workspace does not run now');
    expect(screen.getByRole('link', { name: /Download the patch/ }).getAttribute('href')).toMatch(/workspacechanges\/chat\.one\/archive$/);
  });

  it('say what is missing', async () => {
    const { container } = show(200, { ...changes, tooLarge: true, message: 'The changes have 40 MiB; 32 MiB are kept.', diffTruncated: true });
    await screen.findByText('The changes have 40 MiB; 32 MiB are kept.');
    expect(container.textContent).toContain('longer than 1 MiB');
    expect(screen.queryByRole('link', { name: /Download/ })).toBeNull();
  });

  it('can be none', async () => {
    show(200, { source: 'Directory', live: true, files: [], message: 'The directory is not a git repository.' });
    await screen.findByRole('heading', { name: 'No files were changed' });
    await screen.findByText('The directory is not a git repository.');
  });

  it('are explained if they cannot be read', async () => {
    show(404, { message: 'the AgentChat has no spec.workspace' });
    await screen.findByText(/The AgentChat has no spec.workspace/);
    cleanup();
    show(403, { message: 'workspacechanges.history.nestor.dev "chat.one" is forbidden: User "bob" cannot get resource "workspacechanges" in API group "history.nestor.dev" in the namespace "default"' });
    await screen.findByText(/You may not get the changes of a workspace in default/);
  });
});
