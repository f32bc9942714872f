// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { UsagePeriod, UsageReport } from '../api/history';
import type { Quota } from '../api/types';

// Usage over time. All periods are calendar periods in UTC, as those of an AgentQuota.

export interface Range {
  key: string;
  label: string;
  period: UsagePeriod;
  /** How many periods it covers, with the current one. */
  count: number;
}

export const ranges: Range[] = [
  { key: 'day', label: '24 hours', period: 'Hour', count: 24 },
  { key: 'week', label: '7 days', period: 'Day', count: 7 },
  { key: 'month', label: '30 days', period: 'Day', count: 30 },
  { key: 'year', label: '12 months', period: 'Month', count: 12 },
];

/** The start of the period that contains a time, moved by a number of periods. */
export function periodStart(period: UsagePeriod, at: number, by = 0): number {
  const date = new Date(at);
  const [year, month, day, hour] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), date.getUTCHours()];
  switch (period) {
    case 'Hour':
      return Date.UTC(year, month, day, hour + by);
    case 'Day':
      return Date.UTC(year, month, day + by);
    case 'Month':
      return Date.UTC(year, month + by);
  }
}

/** The starts of the periods of a range, oldest first. */
export const startsOf = (range: Range, now: number) => Array.from({ length: range.count }, (_, i) => periodStart(range.period, now, i + 1 - range.count));

/** 05:00, 17 Nov, Nov 2026. */
export function periodLabel(period: UsagePeriod, start: number): string {
  const date = new Date(start);
  switch (period) {
    case 'Hour':
      return date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });
    case 'Day':
      return date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
    case 'Month':
      return date.toLocaleDateString('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });
  }
}

export interface Series {
  key: string;
  /** One value for each period. */
  values: number[];
}

/** The key of everything that has no series of its own. */
export const otherKey = '\u0000other';

/** How many values have a series of their own. */
const shownSeries = 5;

/** The series of a measure: one for each of the largest values of the dimension, and one for the others. */
export function seriesOf(reports: UsageReport[], starts: number[], measure: (report: UsageReport) => number): Series[] {
  const index = new Map(starts.map((start, i) => [start, i]));
  const all = new Map<string, number[]>();
  for (const report of reports) {
    const at = index.get(Date.parse(report.startTime ?? ''));
    if (at === undefined) continue;
    const key = report.value ?? '';
    const values = all.get(key) ?? starts.map(() => 0);
    values[at]! += measure(report);
    all.set(key, values);
  }
  const sorted = [...all].map(([key, values]) => ({ key, values })).filter(({ values }) => sum(values) > 0).sort((a, b) => sum(b.values) - sum(a.values) || a.key.localeCompare(b.key));
  if (sorted.length <= shownSeries + 1) return sorted;
  const others = sorted.slice(shownSeries);
  return [...sorted.slice(0, shownSeries), { key: otherKey, values: starts.map((_, i) => sum(others.map(({ values }) => values[i]!))) }];
}

export const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** A round number that is at least as high as a value, for the top of an axis: 1, 2 or 5 times a power of ten. */
export function ceiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((step) => step * power >= value * (1 - 1e-9))!;
}

/** A limit of a quota, and what counts against it. */
export interface Budget {
  quota: string;
  unit: 'tokens' | 'cost';
  /** The currency of a cost. */
  currency?: string;
  used: number;
  /** What calls in flight may still use. */
  reserved: number;
  limit: number;
  resets?: string;
  /** Why calls wait for it. */
  problem?: string;
}

/** The budgets of a period: one for each limit of each quota. */
export function budgetsOf(quotas: Quota[], period: UsagePeriod): Budget[] {
  return quotas
    .filter(({ spec }) => spec.period === period)
    .flatMap(({ metadata, spec, status }) => {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      const budget = (unit: Budget['unit'], limit?: number, used = 0, remaining?: number): Budget[] =>
        limit === undefined ? [] : [{ quota: metadata.name, unit, currency: unit === 'cost' ? status?.used?.currency : undefined, used, limit, reserved: remaining === undefined ? 0 : Math.max(0, limit - used - remaining), resets: status?.resetTime, problem: ready?.status === 'False' ? ready.message : undefined }];
      return [...budget('tokens', spec.maxTokens, status?.used?.tokens, status?.remaining?.tokens), ...budget('cost', spec.maxCostMicros, status?.used?.costMicros, status?.remaining?.costMicros)];
    });
}
