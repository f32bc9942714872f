// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useCallback, useMemo } from 'react';
import { write } from '../api/client';
import { labelParent, labelTrigger } from '../api/types';
import { ago, duration, exact, money, plural, tokens } from '../model/format';
import { evidenceOf } from '../model/claims';
import { runsOf, viewOf } from '../model/runs';
import { badgeOf, buildTree, elapsed, finished, type Node } from '../model/tree';
import { Arguments } from '../parts/Arguments';
import { AskCard } from '../parts/AskCard';
import { Badge } from '../parts/Badge';
import { MenuButton } from '../parts/BareHead';
import { CopyLink } from '../parts/CopyLink';
import { Empty, Loading } from '../parts/Empty';
import { Icon, type IconName } from '../parts/Icon';
import { LiveText, ProgressList } from '../parts/LiveText';
import { Markdown } from '../parts/Markdown';
import { RoleIcon, useRoleName } from '../parts/RoleIcon';
import { WaitState } from '../parts/WaitState';
import { Steps } from '../parts/Steps';
import { ResultView, TaskBlock, TaskError, type TaskActions } from '../parts/TaskBlock';
import { useSite, useSnapshot } from '../state/context';
import { useKeys, useNow } from '../state/hooks';
import { go, hrefOf, useLink, type ChatView, type Route } from '../state/route';
import { Changes } from './Changes';
import { Compare } from './Compare';
import { Inspector } from './Inspector';
import { RunAgain } from './RunAgain';
import { Timeline } from './Timeline';

/** A standalone task: what it should do, what it did, and what came of it. */
export function RunPage({ route, onMenu }: { route: Route & { run: string }; onMenu: () => void }) {
  const site = useSite();
  const { tasks, agents, displays, synced, problems } = useSnapshot();
  const tree = useMemo(() => buildTree(tasks, agents, displays), [tasks, agents, displays]);
  const node = tree.byName.get(route.run);
  const inspect = useCallback((agent?: string) => go(hrefOf({ ...route, agent, entry: undefined })), [route.namespace, route.run, route.view]);
  useKeys({
    c: () => go(hrefOf({ namespace: site.namespace, run: route.run, agent: route.agent })),
    t: () => go(hrefOf({ ...route, view: 'timeline' })),
    d: node?.task.spec.workspace ? () => go(hrefOf({ ...route, view: 'changes' })) : undefined,
    i: () => inspect(route.agent ? undefined : route.run),
    Escape: route.agent ? () => inspect(undefined) : undefined,
  });
  const cancel = async (task: string) => {
    try {
      await write(site.namespace, { task: route.run }, site.person.user, { cancel: task === route.run ? {} : { task } });
      site.toast('The cancel is sent.');
    } catch (error) {
      site.toast((error as Error).message, 'error');
    }
  };
  if (!node) {
    const refused = problems.get('agenttasks');
    return (
      <main className="chat-main" id="main">
        <RunHead route={route} onMenu={onMenu} />
        {refused?.final ? (
          <Empty icon="key" title="You may not read this run" alert>
            {refused.message}
          </Empty>
        ) : synced.has('displays') ? (
          <Empty icon="inbox" title="Run not found">
            <p>
              <strong>{route.run}</strong> does not exist in {site.namespace}, or it was deleted.
            </p>
          </Empty>
        ) : (
          <Loading what="the run" lines={6} />
        )}
      </main>
    );
  }
  const actions: TaskActions = { inspect, answer: () => go(hrefOf({ namespace: site.namespace, run: route.run })), inspected: route.agent, cancel: site.person.may.createMessages ? (task) => void cancel(task) : undefined };
  return (
    <div className={`chat-page${route.agent ? ' inspecting' : ''}`}>
      <main className="chat-main" id="main">
        <RunHead route={route} node={node} onMenu={onMenu} onStop={actions.cancel && !finished(node) && !node.task.spec.cancel ? () => actions.cancel!(node.name) : undefined} />
        {route.view === 'timeline' && <Timeline tree={tree} ordered={[]} inspect={inspect} />}
        {route.view === 'changes' && <Changes of={`task.${route.run}`} />}
        {route.view === 'compare' && <Compare key={route.other} task={node.task} other={route.other} />}
        {!['timeline', 'changes', 'compare'].includes(route.view) && <Overview node={node} actions={actions} />}
      </main>
      {route.agent && <Inspector key={`${route.agent}/${route.entry}`} name={route.agent} entry={route.entry} chat={route.run} tree={tree} onClose={() => inspect(undefined)} onInspect={inspect} onAnswer={actions.answer} />}
    </div>
  );
}

const views: { view: ChatView; label: string; icon: IconName }[] = [
  { view: 'chat', label: 'Overview', icon: 'chat' },
  { view: 'timeline', label: 'Timeline', icon: 'timeline' },
  { view: 'changes', label: 'Changes', icon: 'diff' },
  { view: 'compare', label: 'Compare', icon: 'branch' },
];

function RunHead({ route, node, onMenu, onStop }: { route: Route & { run: string }; node?: Node; onMenu: () => void; onStop?: () => void }) {
  const { person } = useSite();
  const { usage } = node?.task.status ?? {};
  return (
    <header className="chat-head of-run">
      <MenuButton onMenu={onMenu} />
      <h1 title={route.run}>{node ? viewOf(node.task).title : route.run}</h1>
      {node && <State node={node} />}
      <span className="chat-usage">
        {Boolean(usage?.totalTokens) && <span>{tokens(usage!.totalTokens)} tokens</span>}
        {Boolean(usage?.modelCalls) && usage!.costMicros !== undefined && <span>cost {money(usage!.costMicros, usage!.currency)}</span>}
      </span>
      {node && (
        <div className="tabs" role="group" aria-label="View">
          {views.filter(({ view }) => view !== 'changes' || node.task.spec.workspace).map(({ view, label, icon }) => (
            <Tab key={view} href={hrefOf({ ...route, view })} current={(route.view === 'usage' ? 'chat' : route.view) === view} icon={icon} label={label} />
          ))}
        </div>
      )}
      {onStop && (
        <button type="button" className="button small stop-all" aria-label="Cancel this run" onClick={onStop}>
          <Icon name="stop" size={12} /> <span className="wide-only">Cancel</span>
        </button>
      )}
      {node && finished(node) && person.may.createTasks && !node.task.spec.chat && !node.task.metadata.labels?.[labelParent] && <RunAgain task={node.task} />}
      <CopyLink href={hrefOf({ namespace: route.namespace, run: route.run })} />
    </header>
  );
}

function State({ node }: { node: Node }) {
  const still = node.task.waitState;
  return still?.kind === 'Blocked' ? <Badge kind="failed" label={still.head} /> : <Badge kind={badgeOf(node)} />;
}

function Tab({ href, current, icon, label }: { href: string; current: boolean; icon: IconName; label: string }) {
  return (
    <a className="tab" aria-current={current ? 'page' : undefined} aria-label={label} {...useLink(href)}>
      <Icon name={icon} size={14} /> <span className="wide-only">{label}</span>
    </a>
  );
}

function Overview({ node, actions }: { node: Node; actions: TaskActions }) {
  const roleName = useRoleName();
  const { spec, status } = node.task;
  const isTool = spec.type === 'Tool';
  const run = runsOf([], [node.task])[0]!;
  return (
    <div className="run" tabIndex={0} role="region" aria-label="Run">
      <div className="run-inner">
        <header className="run-head">
          <RoleIcon role={spec.role} tool={isTool} large />
          <h2>{isTool ? spec.tool : roleName(spec.role)}</h2>
          <State node={node} />
          <button type="button" className="button small" onClick={() => actions.inspect(node.name)}>
            <Icon name="eye" size={14} /> Inspect
          </button>
        </header>
        <Facts node={node} />
        {spec.instruction && <Markdown text={spec.instruction} />}
        {spec.successCriteria && (
          <p className="criteria">
            <span className="label">Done when</span> {spec.successCriteria}
          </p>
        )}
        {spec.arguments !== undefined && (
          <section aria-label="Arguments" className="run-part">
            <h3>Arguments</h3>
            <Arguments text={JSON.stringify(spec.arguments)} tool={spec.tool} />
            {!exact(spec.arguments) && (
              <p className="note">
                <Icon name="alert" size={14} />
                <span>
                  Your browser has rounded a number above 2<sup>53</sup>. The exact arguments: <code>{`kubectl get agenttask ${node.name} -n ${node.task.metadata.namespace} -o yaml`}</code>
                </span>
              </p>
            )}
          </section>
        )}
        <WaitState node={node} />
        <ProgressList node={node} />
        {!finished(node) && <LiveText node={node} who={roleName(spec.role)} />}
        {run.asks?.map((ask) => (
          <AskCard key={`${ask.task}/${ask.call ?? ''}`} run={run} ask={ask} />
        ))}
        {status?.error && <TaskError error={status.error} />}
        {status?.result && (
          <section aria-label="Result" className="run-part">
            <h3>Result</h3>
            <ResultView result={status.result} evidence={evidenceOf(node)} partial={status.phase !== 'Success'} />
          </section>
        )}
        {(node.agent?.status?.toolCalls?.length ?? 0) > 0 && (
          <section aria-label="Steps" className="run-part">
            <h3>Steps</h3>
            <Steps node={node} inspect={actions.inspect} />
          </section>
        )}
        {node.children.length > 0 && (
          <section aria-label="Delegated work" className="run-part">
            <h3>Delegated work</h3>
            {node.children.map((child) => (
              <TaskBlock key={child.name} node={child} actions={actions} />
            ))}
          </section>
        )}
      </div>
    </div>
  );
}

function Facts({ node }: { node: Node }) {
  const { namespace, person } = useSite();
  const now = useNow(!finished(node));
  const { metadata, spec, status } = node.task;
  const took = elapsed(node, now);
  const trigger = metadata.labels?.[labelTrigger];
  const link = useLink(hrefOf({ namespace, page: 'triggers' }));
  const facts = [
    `created ${ago(metadata.creationTimestamp, now) === 'now' ? 'now' : `${ago(metadata.creationTimestamp, now)} ago`}`,
    took !== undefined && (finished(node) ? `took ${duration(took)}` : `for ${duration(took)}`),
    status?.iterations && plural(status.iterations, 'iteration'),
    node.agent?.spec.model,
    spec.user && `requested by ${spec.user === person.user ? 'you' : spec.user}`,
  ].filter(Boolean);
  return (
    <p className="facts">
      {facts.map((fact) => (
        <span key={String(fact)}>{fact}</span>
      ))}
      {trigger && <a {...link}>trigger {trigger}</a>}
    </p>
  );
}
