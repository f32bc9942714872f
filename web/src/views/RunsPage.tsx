// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo, useState } from 'react';
import { ago, moment, money, plural, tokens } from '../model/format';
import { filterRuns, formatFilter, parseFilter, runsOf, states, waitingOf, type Filter, type Run } from '../model/runs';
import { AskCard } from '../parts/AskCard';
import { Badge } from '../parts/Badge';
import { Empty, Loading } from '../parts/Empty';
import { Icon } from '../parts/Icon';
import { RoleIcon } from '../parts/RoleIcon';
import { useNotify } from '../state/alerts';
import { useSite, useSnapshot } from '../state/context';
import { useNow } from '../state/hooks';
import { go, hrefOf, useLink } from '../state/route';
import type { Scope } from '../state/inbox';
import { Page } from './Page';

/** How many runs are shown at first. */
const page = 50;
/** How many asks of one run are shown. */
const shownAsks = 3;

const stateNames: Record<(typeof states)[number], string> = { waiting: 'Waiting', active: 'Running', done: 'Done', failed: 'Failed' };

/** The inbox: chats and standalone tasks of all namespaces, those that wait for the person first. */
export function RunsPage({ onMenu }: { onMenu: () => void }) {
  const { namespace } = useSite();
  const { inbox } = useSnapshot();
  const runs = useMemo(() => runsOf(inbox.chats, inbox.tasks), [inbox]);
  const filter = parseFilter(location.search);
  const shown = filterRuns(runs, filter);
  const [most, setMost] = useState(page);
  const now = useNow(true, 15_000);
  const change = (part: Partial<Filter>) => {
    const query = formatFilter({ ...filter, ...part });
    go(hrefOf({ namespace, page: 'runs' }) + (query ? `?${query}` : ''), true);
  };
  const several = inbox.scope?.all || (inbox.scope?.namespaces?.length ?? 0) > 1;
  const waiting = waitingOf(shown);
  const rest = shown.filter((run) => run.badge !== 'waiting').slice(0, most);
  return (
    <Page title="Runs" subtitle={scopeText(inbox.scope)} onMenu={onMenu}>
      <Filters filter={filter} runs={runs} several={several} onChange={change} />
      {inbox.problems.map((problem) => (
        <p key={problem} className="note">
          {problem}
        </p>
      ))}
      {!inbox.synced && runs.length === 0 && <Loading what="runs" lines={6} />}
      {inbox.synced && runs.length === 0 && (
        <Empty icon="inbox" title="No runs yet">
          Chats, and tasks that triggers, pipelines or other programs start, appear here.
        </Empty>
      )}
      {runs.length > 0 && shown.length === 0 && <Empty icon="search" title="No matching runs">Change the filter or the search.</Empty>}
      {waiting.length > 0 && (
        <section aria-label="Waiting for you" className="inbox-part">
          <h2>Waiting for you</h2>
          <ul className="inbox">
            {waiting.map((run) => (
              <RunItem key={run.key} run={run} now={now} several={several} />
            ))}
          </ul>
        </section>
      )}
      {rest.length > 0 && (
        <section aria-label="Other runs" className="inbox-part">
          {waiting.length > 0 && <h2>Others</h2>}
          <ul className="inbox">
            {rest.map((run) => (
              <RunItem key={run.key} run={run} now={now} several={several} />
            ))}
          </ul>
          {shown.length - waiting.length > rest.length && (
            <button type="button" className="button small" onClick={() => setMost(most + page)}>
              Show more
            </button>
          )}
        </section>
      )}
    </Page>
  );
}

function scopeText(scope: Scope | undefined): string {
  if (!scope) return 'Chats and standalone tasks';
  if (scope.all) return 'Chats and standalone tasks of all namespaces';
  const names = scope.namespaces ?? [];
  const text = `Chats and standalone tasks of ${names.length <= 3 ? names.join(', ') || 'no namespace' : plural(names.length, 'namespace')}`;
  return scope.omitted ? `${text}. You may see ${scope.omitted} more: open one with the namespace picker to have it here` : text;
}

function Filters({ filter, runs, several, onChange }: { filter: Filter; runs: Run[]; several: boolean; onChange: (part: Partial<Filter>) => void }) {
  const [notify, toggle] = useNotify();
  const namespaces = useMemo(() => [...new Set(runs.map((run) => run.namespace))].sort(), [runs]);
  const counts = useMemo(() => new Map(states.map((state) => [state, runs.filter((run) => run.state === state).length])), [runs]);
  return (
    <div className="inbox-filters">
      <div className="segments" role="group" aria-label="State">
        {[undefined, ...states].map((state) => (
          <button key={state ?? 'all'} type="button" className="segment" aria-pressed={filter.state === state} onClick={() => onChange({ state })}>
            {state ? `${stateNames[state]} ${counts.get(state)}` : 'All'}
          </button>
        ))}
      </div>
      <select aria-label="Kind" value={filter.kind ?? ''} onChange={(event) => onChange({ kind: (event.target.value || undefined) as Filter['kind'] })}>
        <option value="">All kinds</option>
        <option value="chat">Chats</option>
        <option value="task">Tasks</option>
        <option value="tool">Tool calls</option>
      </select>
      {several && (
        <select aria-label="In namespace" value={filter.namespace ?? ''} onChange={(event) => onChange({ namespace: event.target.value || undefined })}>
          <option value="">All namespaces</option>
          {namespaces.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      <label className="search">
        <Icon name="search" size={14} />
        <input value={filter.search} placeholder="Find a run" aria-label="Find a run" onChange={(event) => onChange({ search: event.target.value })} />
      </label>
      {notify !== 'unsupported' && (
        <button
          type="button"
          className="button small"
          aria-pressed={notify === 'on'}
          disabled={notify === 'blocked'}
          title={notify === 'blocked' ? 'The browser blocks notifications of this page. Its settings can allow them.' : 'Notify me in the browser when a run waits for me'}
          onClick={toggle}
        >
          <Icon name="bell" size={14} /> {notify === 'on' ? 'Notifications on' : notify === 'blocked' ? 'Notifications blocked' : 'Notify me'}
        </button>
      )}
    </div>
  );
}

function RunItem({ run, now, several }: { run: Run; now: number; several: boolean }) {
  const { person } = useSite();
  const link = useLink(run.kind === 'chat' ? hrefOf({ namespace: run.namespace, chat: run.name }) : hrefOf({ namespace: run.namespace, run: run.name }));
  const facts = [
    several && `in ${run.namespace}`,
    run.title !== run.name && run.name,
    run.trigger && `trigger ${run.trigger}`,
    run.user && run.user !== person.user && `by ${run.user}`,
    run.usage?.totalTokens && `${tokens(run.usage.totalTokens)} tokens`,
    run.usage?.modelCalls && run.usage.costMicros !== undefined && `cost ${money(run.usage.costMicros, run.usage.currency)}`,
  ].filter(Boolean);
  return (
    <li className={`inbox-run ${run.badge}`}>
      <div className="inbox-head">
        {run.kind === 'chat' ? (
          <span className="role-icon" aria-hidden="true">
            <Icon name="chat" size={14} />
          </span>
        ) : (
          <RoleIcon role={run.role} tool={run.kind === 'tool'} />
        )}
        <div className="inbox-text">
          <a className="inbox-title" {...link}>
            {run.title}
          </a>
          {run.text && !run.asks && <p className={`inbox-brief${run.state === 'failed' ? ' failed' : ''}`}>{run.text}</p>}
          <p className="inbox-facts">
            <span>{{ chat: 'Chat', task: 'Task', tool: 'Tool call' }[run.kind]}</span>
            {facts.map((fact) => (
              <span key={String(fact)}>{fact}</span>
            ))}
          </p>
        </div>
        {run.badge === 'idle' ? <span className="badge badge-pending">Idle</span> : <Badge kind={run.stuck ? 'failed' : run.badge} label={run.label} />}
        <time className="inbox-age" dateTime={run.activeTime} title={`Created ${moment(run.created)}, last activity ${moment(run.activeTime)}`}>
          {ago(run.activeTime, now)}
        </time>
      </div>
      {run.asks?.slice(0, shownAsks).map((ask) => (
        <AskCard key={`${ask.task}/${ask.call ?? ''}`} run={run} ask={ask} />
      ))}
      {run.asks && run.asks.length > shownAsks && (
        <a className="inbox-more" {...link}>
          {plural(run.asks.length - shownAsks, 'more request')}
        </a>
      )}
    </li>
  );
}
