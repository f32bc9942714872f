// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { runsOf } from '../model/runs';
import { aTask } from '../testing';
import { documentTitle, newAsks } from './alerts';

const waits = (name: string, call: string) => runsOf([], [aTask(name, { run: { badge: 'waiting', asks: [{ kind: 'Approval', task: name, call, tool: 'notes__add', startTime: '2026-01-01T00:00:00Z' }] } })]);

it('the title has the number of runs that wait', () => {
  expect(documentTitle(0)).toBe('Nestor');
  expect(documentTitle(2)).toBe('(2) Nestor');
  expect(documentTitle(1, 'talk')).toBe('(1) talk – Nestor');
});

it('tells of each ask once, and not of those that were there before the page', () => {
  const first = newAsks(undefined, waits('one', 'call-1'));
  expect(first.fresh).toEqual([]);
  const again = newAsks(first.known, waits('one', 'call-1'));
  expect(again.fresh).toEqual([]);
  const next = newAsks(again.known, [...waits('one', 'call-2'), ...waits('two', 'call-1')]);
  expect(next.fresh.map((run) => run.name)).toEqual(['one', 'two']);
});
