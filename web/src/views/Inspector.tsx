// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo, useState } from 'react';
import { transcriptOf } from '../api/history';
import { explainServer } from '../model/errors';
import { duration, money, plural, tokens } from '../model/format';
import type { Forked } from '../model/fork';
import { agentName, ancestry, badgeOf, elapsed, finished, transcriptName, type Node, type Tree } from '../model/tree';
import { emptyTranscript, filterRows, rowsOf, type Filter } from '../model/transcript';
import { Badge } from '../parts/Badge';
import { Empty, Loading } from '../parts/Empty';
import { ErrorText } from '../parts/ErrorText';
import { Icon } from '../parts/Icon';
import { RoleIcon, useRoleName } from '../parts/RoleIcon';
import { useSite, useSnapshot } from '../state/context';
import type { Problem } from '../state/store';
import { useNow } from '../state/hooks';
import { orchestrator } from '../state/route';
import { ForkDialog } from './Fork';
import { TranscriptList } from './TranscriptList';

const filters: { filter: Filter; label: string }[] = [
  { filter: 'all', label: 'All' },
  { filter: 'words', label: 'Messages' },
  { filter: 'tools', label: 'Tools' },
  { filter: 'errors', label: 'Errors' },
];

/** The whole transcript of one agent, read-only: people talk to agents in the main chat. */
export function Inspector({ name, entry, chat, tree, onClose, onInspect, onAnswer }: { name: string; entry?: number; chat: string; tree: Tree; onClose: () => void; onInspect: (name?: string) => void; onAnswer: () => void }) {
  const { transcripts, problems, synced } = useSnapshot();
  const [filter, setFilter] = useState<Filter>('all');
  const [search, setSearch] = useState('');
  const node = tree.byName.get(name);
  const { person } = useSite();
  const [forkAt, setForkAt] = useState<number>();
  const forked = forkedOf(node, Boolean(person.may.createTasks));
  const main = name === orchestrator;
  const transcript = main ? transcriptOf('chat', chat) : transcriptName(node ? [node.task] : [], name);
  const state = transcripts.get(transcript) ?? emptyTranscript;
  const problem = problems.get(transcript);
  const rows = useMemo(() => rowsOf(state.entries), [state.entries]);
  const shown = useMemo(() => filterRows(rows, filter, search), [rows, filter, search]);
  return (
    <aside className="inspector" aria-label={`Inspector of ${main ? chat : name}`}>
      <header className="inspector-head">
        {node ? <InspectorTitle node={node} chat={chat} onInspect={onInspect} /> : <h2>{main ? 'Orchestrator' : name}</h2>}
        <button type="button" className="button ghost icon-only" aria-label="Close inspector" title="Close (Esc)" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {node?.task.status?.phase === 'Waiting' && (
        <div className="inspector-note">
          <Icon name="hand" size={14} />
          <span>This agent is waiting for you. Answer it in the {node.task.spec.chat ? 'main chat' : 'overview'}.</span>
          <button type="button" className="button small" onClick={onAnswer}>
            Go to {node.task.spec.chat ? 'chat' : 'overview'}
          </button>
        </div>
      )}
      <div className="inspector-tools">
        <div className="segments" role="group" aria-label="Show">
          {filters.map(({ filter: value, label }) => (
            <button key={value} type="button" className="segment" aria-pressed={filter === value} onClick={() => setFilter(value)}>
              {label}
            </button>
          ))}
        </div>
        <label className="search">
          <Icon name="search" size={14} />
          <input value={search} placeholder="Find" aria-label="Find in the transcript" onChange={(event) => setSearch(event.target.value)} />
        </label>
      </div>
      {problem && state.entries.length === 0 ? (
        <Trouble problem={problem} />
      ) : !main && !node && synced.has('displays') && state.entries.length === 0 && !state.streaming ? (
        <Empty icon="search" title="Agent not found">
          <p>
            <strong>{name}</strong> is not an agent of {chat}, or it was deleted.
          </p>
        </Empty>
      ) : state.absent && state.entries.length === 0 ? (
        <Empty icon="clock" title="This agent has not started">Its transcript appears here when it starts.</Empty>
      ) : state.entries.length === 0 && !state.streaming ? (
        <Loading what="the transcript" lines={8} />
      ) : shown.length === 0 && (filter !== 'all' || search) ? (
        <Empty icon="search" title="No matches">{state.complete ? 'Nothing in this transcript matches.' : 'Nothing in the loaded part matches. Show everything and scroll up to load more.'}</Empty>
      ) : (
        <TranscriptList transcript={transcript} entry={entry} rows={shown} state={state} filtered={filter !== 'all' || search !== ''} onInspect={onInspect} onFork={forked && setForkAt} />
      )}
      {forked && forkAt !== undefined && <ForkDialog forked={forked} sequence={forkAt} onClose={() => setForkAt(undefined)} />}
    </aside>
  );
}

/** The run of a task that a person may fork. */
function forkedOf(node: Node | undefined, may: boolean): Forked | undefined {
  const { task, display } = node ?? {};
  if (!may || !task || task.spec.type !== 'Agent' || !display?.agent) return undefined;
  return { task, subAgent: agentName([task], task.metadata.name), uid: display.agent };
}

/** Explains why a transcript cannot be shown, and what to do. */
function Trouble({ problem }: { problem: Problem }) {
  const title = problem.code === 403 ? 'You may not read transcripts' : problem.code === 404 ? 'The history API is not available' : 'The transcript cannot be read';
  return (
    <Empty icon={problem.code === 403 ? 'key' : 'alert'} title={title} alert>
      {problem.code === 404 ? <p>history.nestor.dev is not served in this cluster.</p> : <ErrorText error={explainServer(problem.message)} />}
      <p>{problem.final ? 'The task in the chat shows the newest steps.' : 'Retrying automatically.'}</p>
    </Empty>
  );
}

function InspectorTitle({ node, chat, onInspect }: { node: Node; chat: string; onInspect: (name?: string) => void }) {
  const roleName = useRoleName();
  const now = useNow(!finished(node));
  const { status, spec } = node.task;
  const took = elapsed(node, now);
  const above = ancestry(node).slice(0, -1);
  return (
    <div className="inspector-title">
      <nav className="crumbs" aria-label="Parents">
        <button type="button" onClick={() => onInspect(undefined)}>
          {chat}
        </button>
        {above.map((parent) => (
          <button key={parent.name} type="button" onClick={() => onInspect(parent.name)}>
            {roleName(parent.task.spec.role)}
          </button>
        ))}
      </nav>
      <h2>
        <RoleIcon role={spec.role} tool={spec.type === 'Tool'} large />
        {spec.type === 'Tool' ? spec.tool : roleName(spec.role)}
        <Badge kind={badgeOf(node)} />
      </h2>
      <p className="facts">
        <span className="mono">{node.name}</span>
        {took !== undefined && <span>{duration(took)}</span>}
        {Boolean(status?.iterations) && <span>{plural(status!.iterations!, 'iteration')}</span>}
        {Boolean(status?.usage?.totalTokens) && <span>{tokens(status!.usage!.totalTokens)} tokens</span>}
        {Boolean(status?.usage?.modelCalls) && <span>cost {money(status!.usage!.costMicros, status!.usage!.currency)}</span>}
        <span className="read-only">read-only</span>
      </p>
    </div>
  );
}
