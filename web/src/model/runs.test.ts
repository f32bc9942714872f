// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { labelTrigger, type Chat, type RunView } from '../api/types';
import { aRun, aWaitState, aTask } from '../testing';
import { filterRuns, formatFilter, inOrder, parseFilter, runsOf, waitingOf, repeated } from './runs';

function aChat(name: string, run: Partial<RunView> = {}, more: Partial<Chat> & { namespace?: string } = {}): Chat {
  const { namespace = 'default', ...rest } = more;
  return { metadata: { name, namespace, uid: `${namespace}-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' }, spec: {}, run: aRun({ title: name, badge: 'idle', ...run }), ...rest };
}

const waiting: Partial<RunView> = { badge: 'waiting', state: 'waiting', order: [0, 1], asks: [{ task: 't', kind: 'Question', question: 'Which year?' }] };

describe('runs', () => {
  it('are in the order of the server; a chat that was just created comes by its time', () => {
    const fresh = { ...aChat('fresh'), run: undefined };
    const chats = [aChat('old', { order: [2, 0] }), aChat('waits', waiting), fresh, aChat('works', { order: [1, -5] })];
    expect(inOrder(chats).map(({ metadata }) => metadata.name)).toEqual(['waits', 'works', 'fresh', 'old']);
    expect(waitingOf(runsOf(chats, []))).toHaveLength(1);
  });

  it('explain what a model provider answered', () => {
    const text = 'Incorrect API key provided: no-key.';
    const runs = runsOf([aChat('c', { badge: 'failed' }, { waitState: aWaitState('Blocked', 'ModelError', text) })], [aTask('t', { status: { phase: 'Failed', error: { kind: 'ModelError', message: text } } })]);
    expect(runs.map((run) => run.text)).toEqual(Array(2).fill('The model provider does not accept the API key.'));
  });

  it('show the error of a task before its instruction', () => {
    const [run] = runsOf([], [aTask('t', { spec: { instruction: 'Do it.' }, status: { phase: 'Failed', error: { kind: 'TimedOut', message: 'too long' } } })]);
    expect(run).toMatchObject({ text: 'Timed out: too long' });
  });
});

describe('the filter', () => {
  const trigger = aTask('nightly-1', { spec: { role: 'researcher', instruction: 'Find lighthouses.' }, run: { state: 'done' } });
  trigger.metadata.labels = { [labelTrigger]: 'nightly' };
  const runs = runsOf([aChat('talk', { title: 'Plan of the move', state: 'done' }, { namespace: 'alice' }), aChat('stuck', waiting)], [trigger, aTask('broken', { run: { state: 'failed' } })]);
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

  it('ignores unknown values', () => {
    expect(parseFilter('state=odd&kind=thing')).toEqual({ search: '' });
  });
});

it('finds the titles that occur more than once', () => {
  expect([...repeated(['Plan', 'Notes', 'Plan', 'Plan'])]).toEqual(['Plan']);
});
