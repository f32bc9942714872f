// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { UsagePeriod, UsageReport } from '../api/history';
import type { Quota } from '../api/types';
import { money, moneyByCurrency, tokens } from '../model/format';
import { budgetsOf, periodStart, sum, type Budget } from '../model/usage';
import { itemsOf, Trouble } from './Loaded';
import { EditLink, SetUp } from './Setup';

const names: Record<UsagePeriod, string> = { Hour: 'This hour', Day: 'Today', Month: 'This month' };

/** The usage of the current day and month against the quotas. days are the days of the current month. */
export function Budgets({ limits, days, now }: { limits: Quota[] | string; days: UsageReport[]; now: number }) {
  const known = itemsOf(limits);
  const active = known.filter(({ spec }) => spec.maxActiveAgents);
  return (
    <section className="panel budgets" aria-label="Budget">
      <h2>
        Budget <SetUp page="usage">New quota</SetUp> {known.map(({ metadata }) => <EditLink key={metadata.name} page="usage" name={metadata.name} />)}
      </h2>
      {typeof limits === 'string' && <p className="note">{limits}</p>}
      {(['Hour', 'Day', 'Month'] as const).map((period) => {
        const budgets = budgetsOf(known, period);
        if (period === 'Hour' && budgets.length === 0) return null;
        return (
          <div key={period} className="budget-period">
            <h3>{names[period]}</h3>
            {budgets.length === 0 ? <Unlimited period={period} days={days} now={now} unknown={typeof limits === 'string'} /> : budgets.map((budget) => <Meter key={budget.quota + budget.unit} budget={budget} />)}
          </div>
        );
      })}
      {active.map(({ metadata, spec, status }) => (
        <p key={metadata.name} className="muted">
          {status?.activeAgents ?? 0} of {spec.maxActiveAgents} sub-agents active (<span className="mono">{metadata.name}</span>)
        </p>
      ))}
    </section>
  );
}

/** A period without a quota: only what was used. */
function Unlimited({ period, days, now, unknown }: { period: UsagePeriod; days: UsageReport[]; now: number; unknown: boolean }) {
  const counted = days.filter(({ startTime }) => Date.parse(startTime ?? '') >= periodStart(period, now));
  const costs = counted.flatMap(({ modelCalls }) => modelCalls.costs ?? []);
  return (
    <p>
      {tokens(sum(counted.map(({ modelCalls }) => modelCalls.totalTokens ?? 0)))} tokens
      {costs.length > 0 && `, cost ${moneyByCurrency(costs)}`}
      {!unknown && <span className="muted"> · no AgentQuota limits a {period.toLowerCase()}</span>}
    </p>
  );
}

function Meter({ budget: { quota, unit, currency, used, reserved, limit, resets, problem } }: { budget: Budget }) {
  const format = unit === 'tokens' ? tokens : (micros: number) => money(micros, currency);
  const percent = Math.round((used / limit) * 100);
  const text = `${unit === 'tokens' ? `${tokens(used)} tokens` : `cost ${format(used)}`} of ${format(limit)} (${percent}%)${reserved > 0 ? `, ${format(reserved)} reserved` : ''}`;
  const level = problem || used + reserved >= limit ? 'full' : percent >= 80 ? 'high' : '';
  return (
    <div className="budget">
      <div className="budget-text">
        <span>{text}</span>
        <span className="muted">
          <span className="mono">{quota}</span>
          {resets && `, resets ${new Date(resets).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZone: 'UTC' })} UTC`}
        </span>
      </div>
      <div className={`meter ${level}`} role="meter" aria-label={`${quota}: ${unit}`} aria-valuemin={0} aria-valuemax={limit} aria-valuenow={Math.min(used, limit)} aria-valuetext={text}>
        <span className="meter-used" style={{ width: `${Math.min(100, (used / limit) * 100)}%` }} />
        <span className="meter-reserved" style={{ width: `${Math.min(100 - Math.min(100, (used / limit) * 100), (reserved / limit) * 100)}%` }} />
      </div>
      {problem && <Trouble>{problem}</Trouble>}
    </div>
  );
}
