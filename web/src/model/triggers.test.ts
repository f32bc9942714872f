// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { annotationFire, annotationFireResult, annotationFiring } from '../api/types';
import { aMessage, aTask, aTrigger } from '../testing';
import { outcomeOf, runsOf, sourceOf } from './triggers';

it('names the source', () => {
  expect(sourceOf({ schedule: { cron: '0 7 * * 1-5', timeZone: 'Europe/Berlin' } })).toBe('0 7 * * 1-5 Europe/Berlin');
  expect(sourceOf({ webhook: {} })).toBe('webhook, Generic');
  expect(sourceOf({ watch: { kind: 'Pod' } })).toBe('watch of Pod');
});

it('lists the runs of this very trigger, newest first', () => {
  const run = (name: string, uid: string, created: string, status: Parameters<typeof aTask>[1]) => {
    const task = aTask(name, { ...status, created });
    task.metadata.annotations = { [annotationFiring]: `${uid}/s1/2` };
    task.metadata.labels = { 'nestor.dev/trigger': 'nightly' };
    return task;
  };
  const message = aMessage('said', { chat: 'team' }, { created: '2026-01-04T00:00:00Z', status: { phase: 'Rejected', reason: 'ChatNotFound' } });
  message.metadata.annotations = { [annotationFiring]: 'nightly-uid/m1' };
  const runs = runsOf(
    aTrigger('nightly'),
    [
      run('old', 'nightly-uid', '2026-01-01T00:00:00Z', { status: { phase: 'Success', result: { summary: 'All is well.' } } }),
      run('new', 'nightly-uid', '2026-01-03T00:00:00Z', { status: { phase: 'Failed', error: { kind: 'ModelError', message: 'No answer.' } } }),
      run('slow', 'nightly-uid', '2026-01-02T00:00:00Z', { status: { phase: 'Failed', error: { kind: 'TimedOut', message: 'Too long.' } } }),
      run('foreign', 'an-earlier-one', '2026-01-02T00:00:00Z', {}),
      aTask('unrelated'),
    ],
    [message],
  );
  expect(runs.map(({ name, firing, badge, text, chat }) => [name, firing, badge, text, chat])).toEqual([
    ['said', 'm1', 'failed', 'ChatNotFound', 'team'],
    ['new', 's1/2', 'failed', 'ModelError: No answer.', undefined],
    ['slow', 's1/2', 'timedout', 'TimedOut: Too long.', undefined],
    ['old', 's1/2', 'success', 'All is well.', undefined],
  ]);
});

it('says what became of a request to fire', () => {
  const outcome = (annotations: Record<string, string>, status: Parameters<typeof aTrigger>[1] = {}) => outcomeOf(aTrigger('nightly', status, annotations), 'one');
  expect(outcome({ [annotationFire]: '{"id": "one"}' })).toEqual({ state: 'waiting' });
  expect(outcome({}, { lastFireID: 'mone', pending: [{ id: 'mone', name: 'nightly-1' }] })).toEqual({ state: 'waiting' });
  expect(outcome({}, { lastFireID: 'mone', pending: [{ id: 'mone', name: 'nightly-1', uid: '1' }] })).toEqual({ state: 'fired' });
  expect(outcome({ [annotationFire]: '{"id": "two"}' }, { lastFireID: 'mone' })).toEqual({ state: 'fired' });
  expect(outcome({}, { lastFireID: 'mone', lastDrop: { id: 'mone', reason: 'Active', message: 'It is active.', time: '' } })).toEqual({ state: 'not-fired', reason: 'It is active.' });
  expect(outcome({ [annotationFireResult]: '{"id": "one", "outcome": "Suspended", "message": "It is suspended."}' })).toEqual({ state: 'not-fired', reason: 'It is suspended.' });
  expect(outcome({ [annotationFireResult]: '{"id": "two", "message": "It is suspended."}' })).toEqual({ state: 'not-fired', reason: 'Another request replaced this one.' });
  expect(outcome({ [annotationFireResult]: 'no JSON' }).state).toBe('not-fired');
});
