// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Refusal, usages } from '../api/client';
import type { UsageReport } from '../api/history';
import { duration, money, plural, tokens, whole } from '../model/format';
import { Bars, Tile, type BarRow } from '../parts/Bars';
import { Empty, Loading } from '../parts/Empty';
import { RoleIcon, useRoleName } from '../parts/RoleIcon';
import { useSite } from '../state/context';
import { useLoad } from '../state/hooks';
import { Page } from './Page';

/** The usage of a namespace, from the ledger: it includes deleted chats. */
export function UsagePage({ onMenu }: { onMenu: () => void }) {
  const { namespace } = useSite();
  const [loaded, again] = useLoad(() => usages(namespace), [namespace]);
  return (
    <Page title="Usage" subtitle={`All model calls and runs of ${namespace} in the ledger`} onMenu={onMenu}>
      {loaded.state === 'loading' && <Loading what="usage" lines={6} />}
      {loaded.state === 'failed' && <Failed error={loaded.error} again={again} />}
      {loaded.state === 'done' && <Report reports={loaded.value} />}
    </Page>
  );
}

function Failed({ error, again }: { error: Error; again: () => void }) {
  const forbidden = error instanceof Refusal && error.forbidden;
  const missing = error instanceof Refusal && error.notFound;
  return (
    <Empty
      alert
      icon={forbidden ? 'key' : 'alert'}
      title={forbidden ? 'You may not read usage in this namespace' : missing ? 'The history API is not available' : 'Usage cannot be read'}
      actions={
        <button type="button" className="button" onClick={again}>
          Try again
        </button>
      }
    >
      {missing ? 'history.nestor.dev is not installed in this cluster. Each chat still shows its own usage.' : error.message}
    </Empty>
  );
}

function Report({ reports }: { reports: UsageReport[] }) {
  const roleName = useRoleName();
  const total = reports.find((report) => report.by === 'Total');
  const by = (dimension: UsageReport['by']) => reports.filter((report) => report.by === dimension).sort((a, b) => (b.modelCalls.totalTokens ?? 0) - (a.modelCalls.totalTokens ?? 0));
  if (!total || (total.modelCalls.total === 0 && total.runs.total === 0)) return <Empty icon="chart" title="No usage yet">Usage appears after the first model call.</Empty>;
  const { modelCalls, runs } = total;
  return (
    <div className="usage">
      <div className="tiles">
        <Tile label="Tokens" value={tokens(modelCalls.totalTokens ?? 0)} more={`${tokens(modelCalls.promptTokens ?? 0)} in, ${tokens(modelCalls.completionTokens ?? 0)} out`} />
        <Tile label="Cost" value={money(modelCalls.costMicros)} more={modelCalls.unknownCostCalls ? `${plural(modelCalls.unknownCostCalls, 'call')} without a price` : undefined} />
        <Tile label="Model calls" value={whole(modelCalls.total)} more={modelCalls.meanDurationMillis !== undefined ? `${duration(modelCalls.meanDurationMillis)} on average` : undefined} />
        <Tile label="Runs" value={whole(runs.total)} more={runs.successPercent !== undefined ? `${runs.successPercent}% of finished runs succeeded` : undefined} />
      </div>
      <Bars title="By role" empty="No roles used." rows={by('Role').map((report) => row(report, <><RoleIcon role={report.value} /> {roleName(report.value)}</>))} />
      <Bars title="By model" empty="No models called." rows={by('Model').map((report) => row(report, <span className="mono">{report.value}</span>))} />
      <Bars title="By chat" empty="No chats with usage." rows={by('Chat').slice(0, 20).map((report) => row(report, <span className="mono">{report.value || 'standalone tasks'}</span>))} />
      <p className="chart-key">
        <span className="swatch first" /> in <span className="swatch second" /> out
      </p>
    </div>
  );
}

function row(report: UsageReport, label: React.ReactNode): BarRow {
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
