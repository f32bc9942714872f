// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { hrefOf, parseRoute } from './route';

it.each([
  ['/alice', '', { namespace: 'alice', page: 'home', view: 'chat' }],
  ['/alice/chats/one', '', { namespace: 'alice', page: 'chat', chat: 'one', view: 'chat' }],
  ['/alice/chats/one', 'view=timeline&agent=one-1', { namespace: 'alice', page: 'chat', chat: 'one', view: 'timeline', agent: 'one-1' }],
  ['/alice/triggers', '', { namespace: 'alice', page: 'triggers', view: 'chat' }],
  ['/alice/roles', 'edit=coder', { namespace: 'alice', page: 'roles', edit: 'coder' }],
  ['/alice/roles', 'edit=', { namespace: 'alice', page: 'roles', edit: '' }],
  ['/alice/evaluations', '', { namespace: 'alice', page: 'evaluations', evaluation: undefined }],
  ['/alice/evaluations/poems', '', { namespace: 'alice', page: 'evaluations', evaluation: 'poems' }],
  ['/alice/policies', 'edit=writes', { namespace: 'alice', page: 'policies', edit: 'writes' }],
  ['/alice/tools', '', { namespace: 'alice', page: 'tools', view: 'chat' }],
  ['/alice/runs', '', { namespace: 'alice', page: 'runs', view: 'chat' }],
  ['/alice/runs/nightly-1', 'view=timeline&agent=nightly-1', { namespace: 'alice', page: 'run', run: 'nightly-1', view: 'timeline', agent: 'nightly-1' }],
  ['/alice/roles', '', { namespace: 'alice', page: 'roles', view: 'chat' }],
] as const)('%s?%s is a place', (path, query, want) => {
  const route = parseRoute(path, query)!;
  expect(route).toMatchObject(want);
  expect(hrefOf(route)).toBe(query ? `${path}?${query}` : path);
});

it('tells an unknown address from the start page', () => {
  expect(parseRoute('/alice/whatever', '')!.page).toBe('unknown');
  expect(parseRoute('/alice/chats', '')!.page).toBe('home');
});

it('knows no place without a namespace', () => {
  expect(parseRoute('/', '')).toBeUndefined();
});

it('has the views of a chat', () => {
  for (const view of ['timeline', 'usage', 'changes', 'settings'] as const) expect(parseRoute('/alice/chats/one', `view=${view}`)!.view).toBe(view);
  expect(parseRoute('/alice/chats/one', 'view=whatever')!.view).toBe('chat');
});
