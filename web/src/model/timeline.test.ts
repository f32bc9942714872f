// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { aTask, aTree } from '../testing';
import { draw, ticks, union } from './timeline';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const ran = (from: number, to?: number) => ({ phase: to === undefined ? ('Running' as const) : ('Success' as const), startTime: at(from), ...(to === undefined ? {} : { completionTime: at(to), durationSeconds: to - from }) });

describe('the timeline', () => {
  it('draws fan-out and fan-in', () => {
    const { roots } = aTree([aTask('a', { status: ran(0, 10) }), aTask('b', { parent: 'a', status: ran(2, 6) }), aTask('c', { parent: 'a', status: ran(2, 8) })], [], { b: { badge: 'success' }, c: { badge: 'success' } });
    const picture = draw(roots, 0)!;
    expect(picture.bars.map(({ node, row, start, end }) => [node.name, row, start, end])).toEqual([['a', 0, 0, 1], ['b', 1, 0.2, 0.6], ['c', 2, 0.2, 0.8]]);
    expect(picture.bars[0]!.idle).toEqual([{ start: 0.2, end: 0.8 }]);
    expect(picture.links.map(({ kind, at: when, to }) => [kind, when, to])).toEqual([['out', 0.2, 1], ['in', 0.6, 1], ['out', 0.2, 2], ['in', 0.8, 2]]);
  });

  it('lets what runs reach until now, and leaves out what has not begun', () => {
    const { roots } = aTree([aTask('a', { status: ran(0) }), aTask('b')]);
    const picture = draw(roots, Date.parse(at(20)))!;
    expect(picture.bars.map((bar) => [bar.node.name, bar.end])).toEqual([['a', 1]]);
    expect(picture.links).toEqual([]);
    expect(draw(aTree([aTask('b')]).roots, 0)).toBeUndefined();
  });

  it('marks round times, and not too many', () => {
    expect(ticks(10_000).map((tick) => tick.label)).toEqual(['0 s', '2 s', '4 s', '6 s', '8 s', '10 s']);
    for (const span of [900, 5000, 61_000, 3_600_000, 90_000_000]) expect(ticks(span).length).toBeLessThanOrEqual(7);
  });

  it('joins spans that overlap', () => {
    expect(union([[5, 6], [1, 3], [2, 4]])).toEqual([[1, 4], [5, 6]]);
  });
});
