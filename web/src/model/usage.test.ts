// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import type { UsageReport } from '../api/history';
import type { Quota } from '../api/types';
import { budgetsOf, ceiling, otherKey, periodLabel, periodStart, ranges, seriesOf, startsOf, sum } from './usage';

const at = (time: string) => Date.parse(time);
const now = at('2028-03-01T00:30:00+01:00'); // the last hour of February in UTC, in a leap year

it('has calendar periods in UTC', () => {
  expect(new Date(periodStart('Hour', now)).toISOString()).toBe('2028-02-29T23:00:00.000Z');
  expect(new Date(periodStart('Day', now)).toISOString()).toBe('2028-02-29T00:00:00.000Z');
  expect(new Date(periodStart('Month', now)).toISOString()).toBe('2028-02-01T00:00:00.000Z');
  expect(new Date(periodStart('Month', now, -2)).toISOString()).toBe('2027-12-01T00:00:00.000Z');
});

it('covers each range without gaps, up to now', () => {
  for (const range of ranges) {
    const starts = startsOf(range, now);
    expect(starts).toHaveLength(range.count);
    expect(starts.at(-1)).toBe(periodStart(range.period, now));
    starts.slice(1).forEach((start, i) => expect(periodStart(range.period, start, -1)).toBe(starts[i]));
  }
});

it('names periods', () => {
  expect(periodLabel('Hour', periodStart('Hour', now))).toBe('23:00');
  expect(periodLabel('Day', now)).toBe('29 Feb');
  expect(periodLabel('Month', now)).toBe('Feb 2028');
});

const report = (value: string | undefined, startTime: string, totalTokens: number): UsageReport => ({ metadata: { name: `${startTime}${value}` }, by: 'Role', value, startTime, modelCalls: { total: 1, totalTokens }, runs: { total: 1 } });

it('makes a series of each of the largest values, and one of the others', () => {
  const starts = [at('2026-11-16T00:00:00Z'), at('2026-11-17T00:00:00Z')];
  const reports = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].flatMap((role, i) => [report(role, '2026-11-17T00:00:00Z', 10 * (i + 1)), report(role, '2026-11-16T00:00:00Z', 1)]);
  reports.push(report('old', '2026-11-01T00:00:00Z', 1000), report('unused', '2026-11-17T00:00:00Z', 0));
  const series = seriesOf(reports, starts, ({ modelCalls }) => modelCalls.totalTokens!);
  expect(series.map(({ key }) => key)).toEqual(['g', 'f', 'e', 'd', 'c', otherKey]);
  expect(series[0]!.values).toEqual([1, 70]);
  expect(series.at(-1)!.values).toEqual([2, 30]);
  expect(sum(series.flatMap(({ values }) => values))).toBe(280 + 7);
});

it('keeps usage without a role', () => {
  expect(seriesOf([report(undefined, '2026-11-17T00:00:00Z', 3)], [at('2026-11-17T00:00:00Z')], ({ modelCalls }) => modelCalls.totalTokens!)).toEqual([{ key: '', values: [3] }]);
});

it('ends axes at round numbers', () => {
  expect([0, 1, 1.2, 3, 7, 10, 1234, 4_999_999].map(ceiling)).toEqual([1, 1, 2, 5, 10, 10, 2000, 5_000_000]);
});

it('shows each limit of a quota with what is used and reserved', () => {
  const quota = (name: string, spec: Quota['spec'], status?: Quota['status']): Quota => ({ metadata: { name, namespace: 'default', uid: name, creationTimestamp: '' }, spec, status });
  const quotas = [
    quota('daily', { period: 'Day', maxTokens: 100, maxCostMicros: 50 }, { used: { tokens: 40, costMicros: 50, currency: 'EUR' }, remaining: { tokens: 50, costMicros: 0 }, conditions: [{ type: 'Ready', status: 'False', reason: 'QuotaExhausted', message: 'Runs wait.' }] }),
    quota('agents', { period: 'Day', maxActiveAgents: 3 }),
    quota('new', { period: 'Month', maxTokens: 9 }),
  ];
  expect(budgetsOf(quotas, 'Day')).toMatchObject([
    { quota: 'daily', unit: 'tokens', currency: undefined, used: 40, reserved: 10, limit: 100, problem: 'Runs wait.' },
    { quota: 'daily', unit: 'cost', currency: 'EUR', used: 50, reserved: 0, limit: 50 },
  ]);
  expect(budgetsOf(quotas, 'Month')).toMatchObject([{ quota: 'new', used: 0, reserved: 0, limit: 9, problem: undefined }]);
});
