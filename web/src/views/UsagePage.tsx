// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { quotas, Refusal, usages } from '../api/client';
import type { UsageReport } from '../api/history';
import type { Quota } from '../api/types';
import { duration, money, moneyByCurrency, plural, tokens, whole } from '../model/format';
import { otherKey, periodLabel, periodStart, ranges, seriesOf, startsOf, sum, type Range, type Series } from '../model/usage';
import { Bars, Tile, type BarRow } from '../parts/Bars';
import { Empty, Loading } from '../parts/Empty';
import { RoleIcon, useRoleName } from '../parts/RoleIcon';
import { Segments } from '../parts/Segments';
import { TimeChart, type ChartSeries } from '../parts/TimeChart';
import { useSite } from '../state/context';
import { useLoad } from '../state/hooks';
import { Budgets } from './Budgets';
import { quiet, TryAgain, WhenLoaded } from './Loaded';
import { Page } from './Page';
import { QuotaSetup } from './Setup';

type Split = 'Role' | 'Model';

/** The usage of a namespace, from the ledger: it includes deleted chats. */
export function UsagePage({ onMenu, edit }: { onMenu: () => void; edit?: string }) {
  return edit === undefined ? <NamespaceUsage onMenu={onMenu} /> : <QuotaPage onMenu={onMenu} edit={edit} />;
}

/** The form of a quota. */
function QuotaPage({ onMenu, edit }: { onMenu: () => void; edit: string }) {
  const { namespace } = useSite();
  const [loaded, again] = useLoad(() => quiet(quotas(namespace)), [namespace]);
  return (
    <Page title={edit || 'New quota'} subtitle="Nothing is written until you apply it" onMenu={onMenu}>
      <WhenLoaded loaded={loaded} again={again} what="quotas" problem="Quotas cannot be read">
        {(all) => <QuotaSetup name={edit} all={all} />}
      </WhenLoaded>
    </Page>
  );
}

function NamespaceUsage({ onMenu }: { onMenu: () => void }) {
  const { namespace } = useSite();
  const [rangeKey, setRange] = useState('week');
  const [split, setSplit] = useState<Split>('Role');
  const range = ranges.find(({ key }) => key === rangeKey)!;
  const [loaded, again] = useLoad(() => loadAll(namespace, range), [namespace, rangeKey]);
  return (
    <Page title="Usage" subtitle={`Model calls and runs of ${namespace} in the ledger, in hours, days and months of UTC`} onMenu={onMenu}>
      <div className="usage-choices">
        <Segments label="Time" value={rangeKey} options={ranges.map(({ key, label }) => ({ value: key, label }))} onChange={setRange} />
        <Segments label="Divide by" value={split} options={[{ value: 'Role', label: 'By role' }, { value: 'Model', label: 'By model' }]} onChange={setSplit} />
      </div>
      {loaded.state === 'loading' && <Loading what="usage" lines={6} />}
      {loaded.state === 'failed' && <Failed error={loaded.error} again={again} />}
      {loaded.state === 'done' && <Report all={loaded.value} range={range} split={split} />}
    </Page>
  );
}

/** What the page shows: sums and periods of the range, the current day and month, and the quotas. */
async function loadAll(namespace: string, range: Range) {
  const now = Date.now();
  const starts = startsOf(range, now);
  const since = new Date(starts[0]!).toISOString();
  const month = new Date(periodStart('Month', now)).toISOString();
  const [sums, byRole, byModel, days, limits] = await Promise.all([
    usages(namespace, { since }),
    usages(namespace, { since, by: 'Role', period: range.period }),
    usages(namespace, { since, by: 'Model', period: range.period }),
    usages(namespace, { since: month, by: 'Total', period: 'Day' }),
    quiet<Quota>(quotas(namespace)),
  ]);
  return { now, starts, sums, Role: byRole, Model: byModel, days, limits };
}

function Failed({ error, again }: { error: Error; again: () => void }) {
  const forbidden = error instanceof Refusal && error.forbidden;
  const missing = error instanceof Refusal && error.notFound;
  return (
    <Empty
      alert
      icon={forbidden ? 'key' : 'alert'}
      title={forbidden ? 'You may not read usage in this namespace' : missing ? 'The history API is not available' : 'Usage cannot be read'}
      actions={<TryAgain again={again} />}
    >
      {missing ? 'history.nestor.dev is not installed in this cluster. Each chat still shows its own usage.' : error.message}
    </Empty>
  );
}

function Report({ all, range, split }: { all: Awaited<ReturnType<typeof loadAll>>; range: Range; split: Split }) {
  const roleName = useRoleName();
  const by = (dimension: UsageReport['by']) => all.sums.filter((report) => report.by === dimension).sort((a, b) => (b.modelCalls.totalTokens ?? 0) - (a.modelCalls.totalTokens ?? 0));
  const [total] = by('Total');
  const periods = all.starts.map((start) => periodLabel(range.period, start));
  const named = (found: Series[]): ChartSeries[] =>
    found.map(({ key, values }, i) => {
      if (key === otherKey) return { key, values, kind: 'series-other', name: 'Others' };
      const name = split === 'Role' ? roleName(key) || 'no role' : key || 'no model';
      return { key, values, kind: `series-${i + 1}`, name, label: split === 'Role' ? <><RoleIcon role={key} /> {name}</> : <span className="mono">{name}</span> };
    });
  const chart = (measure: (report: UsageReport) => number) => named(seriesOf(all[split], all.starts, measure));
  const outcome = (kind: string, name: string, count: (runs: UsageReport['runs']) => number | undefined): ChartSeries => ({
    key: kind, kind, name, values: all.starts.map((start) => sum(all.Role.filter((report) => Date.parse(report.startTime ?? '') === start).map(({ runs }) => count(runs) ?? 0))),
  });
  return (
    <div className="usage">
      <Budgets limits={all.limits} days={all.days} now={all.now} />
      {!total || (total.modelCalls.total === 0 && total.runs.total === 0) ? (
        <Empty icon="chart" title={`No usage in ${range.label}`}>Usage appears after the first model call.</Empty>
      ) : (
        <>
          <Tiles total={total} />
          <TimeChart title={`Tokens by ${split.toLowerCase()}`} periods={periods} series={chart(({ modelCalls }) => modelCalls.totalTokens ?? 0)} format={tokens} empty="No tokens used." />
          {currencies(total).map((currency, _, { length }) => (
            <TimeChart key={currency} title={`Cost by ${split.toLowerCase()}${length > 1 ? ` in ${currency}` : ''}`} periods={periods} series={chart(({ modelCalls }) => modelCalls.costs?.find((cost) => cost.currency === currency)?.costMicros ?? 0)} format={(micros) => money(micros, currency)} empty="No call has a known price. Prices are in the models of a ModelProvider." />
          ))}
          <TimeChart
            counts
            title="Runs by outcome"
            periods={periods}
            series={[outcome('success', 'Succeeded', (runs) => runs.succeeded), outcome('failed', 'Failed', (runs) => runs.failed), outcome('cancelled', 'Cancelled', (runs) => runs.cancelled), outcome('live', 'Not ended', (runs) => runs.live)].filter(({ values }) => sum(values) > 0)}
            format={whole}
            empty="No runs."
          />
          <Bars title="Success of runs by role" empty="No run has ended." rows={by('Role').filter(ended).map((report) => success(report, report.runs, 'run', <><RoleIcon role={report.value} /> {roleName(report.value)}</>))} />
          <Bars title="Success of calls by model" empty="No models called." rows={by('Model').filter(({ modelCalls }) => modelCalls.total > 0).map((report) => success(report, report.modelCalls, 'call', <span className="mono">{report.value || 'no model'}</span>))} />
          <Bars title="Tokens by chat" empty="No chats with usage." rows={by('Chat').slice(0, 20).map((report) => spent(report, <span className="mono">{report.value || 'standalone tasks'}</span>))} />
          <p className="chart-key">
            <span className="swatch first" /> in <span className="swatch second" /> out
          </p>
        </>
      )}
    </div>
  );
}

/** The currencies of the costs, or one without a name if no cost is known. */
const currencies = ({ modelCalls }: UsageReport) => modelCalls.costs?.map(({ currency }) => currency) ?? [''];

function Tiles({ total: { modelCalls, runs } }: { total: UsageReport }) {
  const reasoning = modelCalls.reasoningTokens ? `, ${tokens(modelCalls.reasoningTokens)} of it reasoning` : '';
  return (
    <div className="tiles">
      <Tile label="Tokens" value={tokens(modelCalls.totalTokens ?? 0)} more={`${tokens(modelCalls.promptTokens ?? 0)} in, ${tokens(modelCalls.completionTokens ?? 0)} out${reasoning}`} />
      <Tile label="Cost" value={modelCalls.costs ? moneyByCurrency(modelCalls.costs) : money(undefined)} more={modelCalls.unknownCostCalls ? `${plural(modelCalls.unknownCostCalls, 'call')} without a price` : undefined} />
      <Tile label="Model calls" value={whole(modelCalls.total)} more={modelCalls.meanDurationMillis !== undefined ? `${duration(modelCalls.meanDurationMillis)} on average` : undefined} />
      <Tile label="Runs" value={whole(runs.total)} more={runs.successPercent !== undefined ? `${runs.successPercent}% of finished runs succeeded${runs.cancelled ? `, ${whole(runs.cancelled)} cancelled` : ''}` : undefined} />
    </div>
  );
}

const ended = ({ runs }: UsageReport) => (runs.succeeded ?? 0) + (runs.failed ?? 0) + (runs.cancelled ?? 0) > 0;

function success(report: UsageReport, { succeeded = 0, failed = 0, cancelled = 0, successPercent }: UsageReport['runs'], what: string, label: React.ReactNode): BarRow {
  return {
    key: report.metadata.name,
    label,
    parts: [
      { kind: 'success', value: succeeded, label: `${plural(succeeded, what)} succeeded` },
      { kind: 'failed', value: failed, label: `${plural(failed, what)} failed` },
      ...(cancelled > 0 ? [{ kind: 'cancelled' as const, value: cancelled, label: `${plural(cancelled, what)} cancelled` }] : []),
    ],
    value: successPercent === undefined ? '–' : `${successPercent}%`,
    more: `${failed > 0 ? `${whole(failed)} of ${plural(succeeded + failed, what)} failed` : plural(succeeded, what)}${cancelled > 0 ? `, ${whole(cancelled)} cancelled` : ''}`,
  };
}

function spent(report: UsageReport, label: React.ReactNode): BarRow {
  const { modelCalls, runs } = report;
  return {
    key: report.metadata.name,
    label,
    parts: [
      { kind: 'first', value: modelCalls.promptTokens ?? 0, label: `${whole(modelCalls.promptTokens)} tokens in` },
      { kind: 'second', value: modelCalls.completionTokens ?? 0, label: `${whole(modelCalls.completionTokens)} tokens out` },
    ],
    value: tokens(modelCalls.totalTokens ?? 0),
    more: runs.successPercent !== undefined ? `${plural(runs.total, 'run')}, ${runs.successPercent}% ok` : plural(modelCalls.total, 'call'),
  };
}
