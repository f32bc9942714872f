// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { annotationTitle, labelTrigger, type Chat, type Standstill } from '../api/types';
import { aStandstill, aTask } from '../testing';
import { chatsInOrder, filterRuns, formatFilter, parseFilter, runsOf, stateOf, titleOf, waitingOf } from './runs';

function aChat(name: string, more: Partial<Chat> & { namespace?: string; created?: string; title?: string } = {}): Chat {
  const { namespace = 'default', created = '2026-01-01T00:00:00Z', title, ...rest } = more;
  return { metadata: { name, namespace, uid: `${namespace}-${name}`, creationTimestamp: created, annotations: title ? { [annotationTitle]: title } : {} }, spec: {}, ...rest };
}

const waiting = (since: string): Chat['status'] => ({ phase: 'Waiting', waiting: [{ task: 't', kind: 'Question', text: 'Which year?', since }] });

describe('runs', () => {
  it('put those that wait first, the longest wait before the others, then those that work, and then the newest', () => {
    const runs = runsOf(
      [
        aChat('old', { created: '2026-01-01T00:00:00Z' }),
        aChat('new', { created: '2026-01-05T00:00:00Z' }),
        aChat('waits-short', { created: '2026-01-04T00:00:00Z', status: waiting('2026-01-04T12:00:00Z') }),
        aChat('waits-long', { namespace: 'other', status: waiting('2026-01-02T00:00:00Z') }),
      ],
      [aTask('task', { created: '2026-01-03T00:00:00Z', status: { phase: 'Running' } }), aTask('call', { created: '2026-01-06T00:00:00Z', spec: { type: 'Tool', role: undefined, tool: 'notes__add' }, status: { phase: 'Waiting', waiting: { kind: 'Approval', text: 'notes__add {}', since: '2026-01-06T00:00:00Z' } } })],
    );
    expect(runs.map((run) => run.name)).toEqual(['waits-long', 'waits-short', 'call', 'task', 'new', 'old']);
    expect(waitingOf(runs)).toHaveLength(3);
    expect(runs[2]).toMatchObject({ kind: 'tool', asks: [{ task: 'call', kind: 'Approval' }] });
  });

  it('put what happened last before what was created last', () => {
    const runs = runsOf(
      [aChat('talked', { created: '2026-01-01T00:00:00Z', status: { lastMessageTime: '2026-01-07T00:00:00Z' } }), aChat('created', { created: '2026-01-05T00:00:00Z' })],
      [aTask('ended', { created: '2026-01-02T00:00:00Z', status: { phase: 'Success', completionTime: '2026-01-06T00:00:00Z' } })],
    );
    expect(runs.map((run) => run.name)).toEqual(['talked', 'ended', 'created']);
    expect(runs[0]!.active).toBe('2026-01-07T00:00:00Z');
  });

  it('show no asks of a chat that does not wait any more', () => {
    const [run] = runsOf([aChat('one', { status: { ...waiting('2026-01-01T00:00:00Z'), phase: 'Idle' } })], []);
    expect(run).toMatchObject({ badge: 'idle', asks: [] });
  });

  it('tell a task that cannot start from one that waits for its turn', () => {
    const pending = (kind: Standstill['kind']) => runsOf([], [aTask('t', { spec: { instruction: 'Do it.' }, status: { phase: 'Pending' }, standstill: aStandstill(kind, 'Reason', 'Create the role.') })])[0]!;
    expect(pending('Blocked')).toMatchObject({ stuck: true, label: 'Cannot start', text: 'Create the role.' });
    expect(stateOf(pending('Blocked'))).toBe('failed');
    for (const kind of ['Queued', 'OverQuota', 'Waiting'] as const) {
      expect(pending(kind)).toMatchObject({ stuck: false, text: 'Do it.' });
      expect(stateOf(pending(kind))).toBe('active');
    }
  });

  it('explain what a model provider answered', () => {
    const text = 'Incorrect API key provided: no-key.';
    const runs = runsOf([aChat('c', { standstill: aStandstill('Blocked', 'ModelError', text) })], [aTask('t', { status: { phase: 'Failed', error: { kind: 'ModelError', message: text } } })]);
    expect(runs.map((run) => run.text)).toEqual(Array(2).fill('The model provider does not accept the API key.'));
  });

  it('do not take a chat that waits for its quota for one that failed', () => {
    const [run] = runsOf([aChat('c', { standstill: aStandstill('OverQuota', 'QuotaExhausted') })], []);
    expect(run).toMatchObject({ badge: 'pending', label: 'OverQuota' });
  });

  it('show the error of a task before its instruction', () => {
    const [run] = runsOf([], [aTask('t', { spec: { instruction: 'Do it.' }, status: { phase: 'Failed', error: { kind: 'Timeout', message: 'too long' } } })]);
    expect(run).toMatchObject({ badge: 'failed', text: 'Timeout: too long' });
  });

  it('have the title that was given to them', () => {
    expect(titleOf(aChat('a-b-c', { title: 'The release' }))).toBe('The release');
    expect(titleOf(aChat('a-b-c', { title: '  ' }))).toBe('a-b-c');
    expect(titleOf(aChat('a-b-c', { title: 'The release', status: { title: 'Releases' } }))).toBe('The release');
    expect(titleOf(aChat('a-b-c', { status: { title: 'Releases' } }))).toBe('Releases');
    const begun = (title?: string) => {
      const chat = aChat('a-b-c', { status: { title } });
      chat.metadata.annotations = { 'nestor.dev/first-words': 'What was released?' };
      return titleOf(chat);
    };
    expect(begun()).toBe('What was released?');
    expect(begun('Releases')).toBe('Releases');
  });
});

describe('the filter', () => {
  const trigger = aTask('nightly-1', { spec: { role: 'researcher', instruction: 'Find lighthouses.' }, status: { phase: 'Success' } });
  trigger.metadata.labels = { [labelTrigger]: 'nightly' };
  const runs = runsOf([aChat('talk', { namespace: 'alice', title: 'Plan of the move' }), aChat('stuck', { status: waiting('2026-01-01T00:00:00Z') })], [trigger, aTask('broken', { status: { phase: 'Failed' } })]);
  it.each([
    [{ state: 'waiting' }, ['stuck']],
    [{ state: 'done' }, ['nightly-1', 'talk']],
    [{ state: 'failed' }, ['broken']],
    [{ kind: 'task' }, ['broken', 'nightly-1']],
    [{ namespace: 'alice' }, ['talk']],
    [{ search: 'MOVE plan' }, ['talk']],
    [{ search: 'nightly' }, ['nightly-1']],
    [{ search: 'year' }, ['stuck']],
    [{ search: 'move', state: 'failed' }, []],
  ] as const)('%o', (filter, names) => {
    const all = { search: '', ...filter };
    expect(filterRuns(runs, all).map((run) => run.name).sort()).toEqual([...names].sort());
    expect(parseFilter(formatFilter(all))).toEqual({ state: undefined, kind: undefined, namespace: undefined, ...all });
  });

  it('ignores what it does not know', () => {
    expect(parseFilter('state=odd&kind=thing')).toEqual({ search: '' });
  });
});

it('chats are in the order of their last message', () => {
  const chats = [aChat('new', { created: '2026-01-05T00:00:00Z' }), aChat('old', { created: '2026-01-01T00:00:00Z', status: { phase: 'Idle', lastMessageTime: '2026-01-06T00:00:00Z' } })];
  expect(chatsInOrder(chats).map(({ metadata }) => metadata.name)).toEqual(['old', 'new']);
});

it('chats that wait or work come before the newest', () => {
  const chats = [
    aChat('old', { created: '2026-01-01T00:00:00Z' }),
    aChat('works', { created: '2026-01-02T00:00:00Z', status: { phase: 'Running' } }),
    aChat('waits', { created: '2026-01-01T00:00:00Z', status: waiting('2026-01-04T12:00:00Z') }),
    aChat('new', { created: '2026-01-05T00:00:00Z' }),
  ];
  expect(chatsInOrder(chats).map(({ metadata }) => metadata.name)).toEqual(['waits', 'works', 'new', 'old']);
});
