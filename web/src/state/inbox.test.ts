// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { aTask } from '../testing';
import { Inbox } from './inbox';

const object = (namespace: string, name: string) => ({ ...aTask(name), metadata: { ...aTask(name).metadata, namespace, uid: `${namespace}/${name}` } });

it('keeps the runs of each namespace apart, and replaces a list when it is complete', () => {
  const inbox = new Inbox();
  const hear = (name: string, namespace: string, more = {}) => inbox.hear(name, { resource: 'runs/agenttasks', namespace, ...more });
  inbox.hear('scope', { namespaces: ['a', 'b'] });
  expect(inbox.take().synced).toBe(false);
  for (const namespace of ['a', 'b']) {
    hear('reset', namespace);
    hear('object', namespace, { type: 'ADDED', object: object(namespace, 'one') });
    hear('synced', namespace);
    inbox.hear('synced', { resource: 'runs/agentchats', namespace });
  }
  expect(inbox.take().tasks.map(({ metadata }) => metadata.uid)).toEqual(['a/one', 'b/one']);
  expect(inbox.take().synced).toBe(true);
  expect(inbox.take()).toBe(inbox.take());
  hear('reset', 'a');
  hear('object', 'a', { type: 'ADDED', object: object('a', 'two') });
  expect(inbox.take().tasks.map(({ metadata }) => metadata.uid)).toEqual(['a/one', 'b/one']);
  hear('synced', 'a');
  expect(inbox.take().tasks.map(({ metadata }) => metadata.uid)).toEqual(['a/two', 'b/one']);
  hear('object', 'b', { type: 'DELETED', object: object('b', 'one') });
  expect(inbox.take().tasks.map(({ metadata }) => metadata.uid)).toEqual(['a/two']);
  inbox.hear('scope', { namespaces: ['b'] });
  expect(inbox.take().tasks).toEqual([]);
});

it('reports what cannot be read, and does not wait for it', () => {
  const inbox = new Inbox();
  inbox.hear('scope', { all: true });
  inbox.hear('synced', { resource: 'runs/agentchats' });
  inbox.hear('refused', { resource: 'runs/agenttasks', status: { message: 'you may not' } });
  expect(inbox.take()).toMatchObject({ synced: true, problems: ['you may not'] });
});

it('leaves other events alone', () => {
  const inbox = new Inbox();
  expect(inbox.hear('object', { resource: 'agentchats', type: 'ADDED', object: object('a', 'one') })).toBe(false);
  expect(inbox.take().chats).toEqual([]);
});

it('has no tasks of chats, whose label somebody removed', () => {
  const inbox = new Inbox();
  const task = { ...object('a', 'one'), spec: { type: 'Agent', chat: 'talk' } };
  inbox.hear('object', { resource: 'runs/agenttasks', type: 'ADDED', object: task });
  expect(inbox.take().tasks).toEqual([]);
});
