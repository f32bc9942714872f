// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe as suite, expect, it } from 'vitest';
import type { Segment } from '../api/history';
import { aTask, aTree } from '../testing';
import { describe, draw, entriesOf, extend, lanesOf, ticks } from './timeline';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const ran = (from: number, to?: number) => ({ phase: to === undefined ? ('Running' as const) : ('Success' as const), startTime: at(from), ...(to === undefined ? {} : { completionTime: at(to), durationSeconds: to - from }) });
const aSegment = (seq: number, kind: Segment['kind'], from: number, to?: number, more: Partial<Segment> = {}): Segment => ({ seq, endSeq: to === undefined ? undefined : seq + 1, kind, startTime: at(from), endTime: to === undefined ? undefined : at(to), ...more });

suite('the timeline', () => {
  it('draws fan-out and fan-in', () => {
    const { roots } = aTree([aTask('a', { status: ran(0, 10) }), aTask('b', { parent: 'a', status: ran(2, 6) }), aTask('c', { parent: 'a', status: ran(2, 8) })], [], { b: { badge: 'success' }, c: { badge: 'success' } });
    const picture = draw(lanesOf(undefined, roots), 0)!;
    expect(picture.bars.map(({ lane, row, start, end }) => [lane.node!.name, lane.depth, row, start, end])).toEqual([['a', 0, 0, 0, 1], ['b', 1, 1, 0.2, 0.6], ['c', 1, 2, 0.2, 0.8]]);
    expect(picture.links.map(({ kind, at: when, to }) => [kind, when, to])).toEqual([['out', 0.2, 1], ['in', 0.6, 1], ['out', 0.2, 2], ['in', 0.8, 2]]);
  });

  it('lets what runs reach until now, and leaves out what has not begun', () => {
    const { roots } = aTree([aTask('a', { status: ran(0) }), aTask('b')]);
    const picture = draw(lanesOf(undefined, roots), Date.parse(at(20)))!;
    expect(picture.bars.map((bar) => [bar.lane.node!.name, bar.end])).toEqual([['a', 1]]);
    expect(picture.links).toEqual([]);
    expect(draw(lanesOf(undefined, aTree([aTask('b')]).roots), 0)).toBeUndefined();
  });

  it('shows the segments of the orchestrator since a message until it is idle', () => {
    const { roots } = aTree([aTask('a', { status: ran(14, 18) })]);
    const trace = [aSegment(1, 'Idle', 0, 10), aSegment(2, 'Model', 10, 14), aSegment(3, 'Children', 14, 18), aSegment(4, 'Model', 18, 20), aSegment(5, 'Idle', 20)];
    const picture = draw(lanesOf('chat.c', roots).map((lane) => (lane.node ? lane : { ...lane, trace })), Date.parse(at(100)), Date.parse(at(10)))!;
    expect(picture.bars[0]!.parts.map(({ segment, start, end, took }) => [segment.kind, start, end, took])).toEqual([['Model', 0, 0.4, 4000], ['Children', 0.4, 0.8, 4000], ['Model', 0.8, 1, 2000]]);
    expect(picture.links.map(({ from, to }) => [from, to])).toEqual([[0, 1]]);
  });

  it('continues a trace with its newest segment', () => {
    const trace = [aSegment(1, 'Model', 0, 1), aSegment(2, 'Tool', 1)];
    expect(extend(trace, [aSegment(2, 'Tool', 1, 3), aSegment(3, 'Model', 3)]).map(({ seq, endTime }) => [seq, endTime])).toEqual([[1, at(1)], [2, at(3)], [3, undefined]]);
    expect(extend(trace, [])).toBe(trace);
  });

  it('finds the entries of a segment: its reply, or that which requests its calls', () => {
    const model = aSegment(1, 'Model', 0, 1, { modelCall: 'm1' });
    const wait = aSegment(5, 'User', 1, 4, { modelCall: 'm1', toolCalls: [{ id: 'w', tool: 'write' }] });
    expect(entriesOf(model, [model, wait])).toEqual({ first: 2, last: 2 });
    expect(entriesOf(wait, [model, wait])).toEqual({ first: 2, last: 6 });
    expect(entriesOf(aSegment(1, 'Tool', 0, 1, { toolCalls: [{ id: 'now', tool: 'current_time' }] }), [])).toEqual({ first: 1, last: 2 });
    expect(entriesOf(aSegment(7, 'Model', 5), [])).toBeUndefined();
  });

  it('says what an agent waits for', () => {
    expect(describe(aSegment(1, 'User', 0, 1, { reason: 'Approval', toolCalls: [{ id: 'w', tool: 'write' }] }))).toBe('Waits for your approval: write');
    expect(describe(aSegment(1, 'Queue', 0, 1))).toBe('Waits in a queue');
    expect(describe(aSegment(1, 'Tool', 0, 1, { toolCalls: [{ id: 'a', tool: 'read' }, { id: 'b', tool: 'read' }] }))).toBe('Tool call: read');
  });

  it('marks round times, and not too many', () => {
    expect(ticks(10_000).map((tick) => tick.label)).toEqual(['0 s', '2 s', '4 s', '6 s', '8 s', '10 s']);
    for (const span of [900, 5000, 61_000, 3_600_000, 90_000_000]) expect(ticks(span).length).toBeLessThanOrEqual(7);
  });
});
