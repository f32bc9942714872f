// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { aTask } from '../testing';
import { Inbox } from './inbox';

const object = (namespace: string, name: string) => ({ ...aTask(name), metadata: { ...aTask(name).metadata, namespace, uid: `${namespace}/${name}` } });

it('keeps the runs of each namespace apart, and replaces a list when it is complete', () => {
  const inbox = new Inbox();
  const apply = (name: string, namespace: string, more = {}) => inbox.apply(name, { resource: 'runs/agenttasks', namespace, ...more });
  inbox.apply('scope', { namespaces: ['a', 'b'] });
  expect(inbox.take().synced).toBe(false);
  for (const namespace of ['a', 'b']) {
    apply('reset', namespace);
    apply('object', namespace, { type: 'ADDED', object: object(namespace, 'one') });
    apply('synced', namespace);
    inbox.apply('synced', { resource: 'runs/agentchats', namespace });
  }
  expect(inbox.take().tasks.map(({ metadata }) => metadata.uid)).toEqual(['a/one', 'b/one']);
  expect(inbox.take().synced).toBe(true);
  expect(inbox.take()).toBe(inbox.take());
  apply('reset', 'a');
  apply('object', 'a', { type: 'ADDED', object: object('a', 'two') });
  expect(inbox.take().tasks.map(({ metadata }) => metadata.uid)).toEqual(['a/one', 'b/one']);
  apply('synced', 'a');
  expect(inbox.take().tasks.map(({ metadata }) => metadata.uid)).toEqual(['a/two', 'b/one']);
  apply('object', 'b', { type: 'DELETED', object: object('b', 'one') });
  expect(inbox.take().tasks.map(({ metadata }) => metadata.uid)).toEqual(['a/two']);
  inbox.apply('scope', { namespaces: ['b'] });
  expect(inbox.take().tasks).toEqual([]);
});

it('reports what cannot be read, and does not wait for it', () => {
  const inbox = new Inbox();
  inbox.apply('scope', { all: true });
  inbox.apply('synced', { resource: 'runs/agentchats' });
  inbox.apply('refused', { resource: 'runs/agenttasks', status: { message: 'you may not' } });
  expect(inbox.take()).toMatchObject({ synced: true, problems: ['you may not'] });
});

it('leaves other events alone', () => {
  const inbox = new Inbox();
  expect(inbox.apply('object', { resource: 'agentchats', type: 'ADDED', object: object('a', 'one') })).toBe(false);
  expect(inbox.take().chats).toEqual([]);
});

it('has no tasks of chats, whose label somebody removed', () => {
  const inbox = new Inbox();
  const task = { ...object('a', 'one'), spec: { type: 'Agent', chat: 'talk' } };
  inbox.apply('object', { resource: 'runs/agenttasks', type: 'ADDED', object: task });
  expect(inbox.take().tasks).toEqual([]);
});
