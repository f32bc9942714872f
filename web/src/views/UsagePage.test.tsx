// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { UsageReport } from '../api/history';
import type { Person, Quota } from '../api/types';
import { periodStart } from '../model/usage';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { UsagePage } from './UsagePage';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const today = new Date(periodStart('Day', Date.now())).toISOString();

function usage(by: UsageReport['by'], value: string | undefined, tokens: number, more: Partial<UsageReport> = {}): UsageReport {
  return { metadata: { name: `${by}.${value}.${more.startTime}` }, by, value, modelCalls: { total: 2, succeeded: 2, successPercent: 100, totalTokens: tokens, promptTokens: tokens, reasoningTokens: 7, costs: [{ currency: 'EUR', costMicros: 2_500_000 }, { currency: 'USD', costMicros: 100_000 }] }, runs: { total: 6, succeeded: 3, failed: 1, cancelled: 2, successPercent: 75 }, ...more };
}

/** Shows the page; respond returns the usages for field selectors. */
function show(respond: (select: Record<string, string>) => UsageReport[] | number, quotas: Quota[] | number = []) {
  vi.stubGlobal('fetch', async (path: string) => {
    const answer = (found: object[] | number) => (typeof found === 'number' ? new Response('{"message": "not for you"}', { status: found }) : new Response(JSON.stringify({ items: found })));
    if (path.includes('/agentquotas')) return answer(quotas);
    const selector = new URL(path, 'http://page').searchParams.get('fieldSelector') ?? '';
    return answer(respond(Object.fromEntries(selector.split(',').map((part) => part.split('=') as [string, string]))));
  });
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default', may: {} as Person['may'] } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '', displayName: name === 'coder' ? 'Coder' : undefined }) };
  render(
    <SiteContext value={site}>
      <UsagePage onMenu={() => undefined} />
    </SiteContext>,
  );
}

const respond = ({ by, period }: Record<string, string>) => {
  if (!period) return [usage('Total', undefined, 500), usage('Role', 'coder', 500), usage('Model', 'small', 500), usage('Chat', 'first', 500)];
  return [usage(by as 'Role', by === 'Model' ? 'small' : by === 'Role' ? 'coder' : undefined, 500, { period: period as 'Day', startTime: today })];
};

it('charts tokens, cost and outcomes over time, and has the numbers in tables', async () => {
  show(respond);
  const chart = within(await screen.findByRole('region', { name: 'Tokens by role' }));
  chart.getByRole('img', { name: /^Tokens by role: 500 in 7 periods, at most 500/ });
  expect(within(chart.getByRole('table', { hidden: true })).getByRole('row', { name: /500/, hidden: true })).toBeTruthy();
  screen.getByRole('img', { name: /^Cost by role in EUR: 2.50 EUR in 7 periods/ });
  screen.getByRole('img', { name: /^Cost by role in USD: \$0.1 in 7 periods/ });
  screen.getByText('2.50 EUR + $0.1');
  screen.getByRole('img', { name: /^Runs by outcome: 6 in 7 periods/ });
  // There is no half of a run on the scale.
  expect([...screen.getByRole('region', { name: 'Runs by outcome' }).querySelectorAll('.time-scale span')].map((mark) => mark.textContent)).toEqual(['10', '5', '0']);
  screen.getByText('500 in, 0 out, 7 of it reasoning');
  screen.getByRole('img', { name: '3 runs succeeded, 1 run failed, 2 runs cancelled' });
});

it('divides by model and changes the range', async () => {
  const asked: Record<string, string>[] = [];
  show((select) => {
    asked.push(select);
    return respond(select);
  });
  fireEvent.click(await screen.findByRole('button', { name: 'By model' }));
  await screen.findByRole('region', { name: 'Tokens by model' });
  fireEvent.click(screen.getByRole('button', { name: '24 hours' }));
  await screen.findByRole('img', { name: /^Tokens by model: 500 in 24 periods/ });
  expect(asked.filter(({ period, by }) => period === 'Hour' && by === 'Model')).toHaveLength(1);
});

it('shows the day and the month against the quotas', async () => {
  const daily: Quota = { metadata: { name: 'daily', namespace: 'default', uid: 'q', creationTimestamp: '' }, spec: { period: 'Day', maxTokens: 1000 }, status: { used: { tokens: 900 }, remaining: { tokens: 50 }, resetTime: '2026-11-18T00:00:00Z' } };
  show(respond, [daily]);
  const meter = await screen.findByRole('meter', { name: 'daily: tokens' });
  expect(meter.getAttribute('aria-valuetext')).toBe('900 tokens of 1K (90%), 50 reserved');
  expect(meter.className).toContain('high');
  screen.getByText(/resets 18 Nov, 00:00 UTC/);
  expect(screen.getByText(/no AgentQuota limits a month/).parentElement!.textContent).toContain('500 tokens, cost 2.50');
});

it('shows usage to people who may not read quotas', async () => {
  show(respond, 403);
  await screen.findByText('not for you');
  screen.getByRole('region', { name: 'Tokens by role' });
  expect(screen.queryByText(/no AgentQuota limits/)).toBeNull();
});

it('explains a missing history API', async () => {
  show(() => 404);
  await screen.findByRole('heading', { name: 'The history API is not available' });
});

it('is empty without usage', async () => {
  show(() => []);
  await screen.findByRole('heading', { name: 'No usage in 7 days' });
});
