// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useState } from 'react';
import type { Result } from '../api/types';
import { explainModel, words } from '../model/errors';
import { evidenceOf, type Evidence } from '../model/claims';
import { duration, money, plural, tokens } from '../model/format';
import { badgeOf, elapsed, finished, flatten, type Node } from '../model/tree';
import { useNow } from '../state/hooks';
import { DataView } from './DataView';
import { Badge } from './Badge';
import { ErrorText } from './ErrorText';
import { Icon } from './Icon';
import { LiveText, ProgressList } from './LiveText';
import { Markdown } from './Markdown';
import { RoleIcon, useRoleName } from './RoleIcon';
import { WaitState } from './WaitState';
import { Steps } from './Steps';
import { Arguments } from './Arguments';
import { Claim } from './Claim';

/** The actions of a task block. */
export interface TaskActions {
  inspect: (name: string) => void;
  cancel?: (name: string) => void;
  answer: () => void;
  inspected?: string;
}

/** The tasks that one message caused; a fan-out is shown as one. */
export function TaskGroup({ nodes, actions }: { nodes: Node[]; actions: TaskActions }) {
  const done = nodes.filter(finished).length;
  return (
    <div className="task-group">
      {nodes.length > 2 && (
        <div className="task-group-head">
          <Icon name="branch" size={14} />
          <span>
            {plural(nodes.length, 'task')}, {done === nodes.length ? 'all finished' : `${done} finished`}
          </span>
          <span className="progress" role="img" aria-label={`${done} of ${nodes.length} finished`}>
            {nodes.map((node) => (
              <span key={node.name} className={`progress-part ${badgeOf(node)}`} />
            ))}
          </span>
        </div>
      )}
      {nodes.map((node) => (
        <TaskBlock key={node.name} node={node} actions={actions} />
      ))}
    </div>
  );
}

/** One task: its role, its state, and the tasks below it, at any depth. */
export function TaskBlock({ node, actions }: { node: Node; actions: TaskActions }) {
  const roleName = useRoleName();
  const body = useId();
  const badge = badgeOf(node);
  const active = !finished(node);
  const now = useNow(active && Boolean(node.task.status?.startTime));
  const [chosen, setChosen] = useState<boolean>();
  const open = chosen ?? (active || flatten(node.children).some((child) => !finished(child)));
  const { spec } = node.task;
  const isTool = spec.type === 'Tool';
  const title = isTool ? spec.tool! : roleName(spec.role);
  const took = elapsed(node, now);
  return (
    <section className={`task ${badge}${actions.inspected === node.name ? ' inspected' : ''}`} aria-label={`${title}, task ${node.name}`} data-task={node.name}>
      <div className="task-head">
        <button type="button" className="task-toggle" aria-expanded={open} aria-controls={body} onClick={() => setChosen(!open)}>
          <Icon name="chevron" size={12} />
          <RoleIcon role={spec.role} tool={isTool} />
          <span className="task-title">
            <span className="task-name">{title}</span>
            <span className="task-brief">{isTool ? '' : spec.instruction}</span>
          </span>
        </button>
        <span className="task-facts">
          {took !== undefined && <span className="task-time">{duration(took)}</span>}
          <Badge kind={badge} />
          {!isTool && (
            <button type="button" className="button ghost small" onClick={() => actions.inspect(node.name)} aria-label={`Inspect ${title} ${node.name}`}>
              <Icon name="eye" size={14} />
              <span className="wide-only">Inspect</span>
            </button>
          )}
        </span>
      </div>
      <div className="task-body" id={body} hidden={!open}>
        {open && <TaskBody node={node} actions={actions} />}
      </div>
    </section>
  );
}

function TaskBody({ node, actions }: { node: Node; actions: TaskActions }) {
  const { spec, status } = node.task;
  const roleName = useRoleName();
  const waiting = status?.phase === 'Waiting' ? status.waiting : undefined;
  return (
    <>
      {spec.instruction && <p className="instruction">{spec.instruction}</p>}
      {spec.successCriteria && (
        <p className="criteria">
          <span className="label">Done when</span> {spec.successCriteria}
        </p>
      )}
      {spec.type === 'Tool' && spec.arguments !== undefined && <Arguments text={JSON.stringify(spec.arguments)} tool={spec.tool} />}
      <WaitState node={node} />
      <ProgressList node={node} />
      {waiting?.kind === 'Question' && (!waiting.subAgent || waiting.subAgent === status?.subAgent) && (
        <p className="note waiting">
          <Icon name="hand" size={14} />
          <span>{node.display.question ? 'It asks you a question.' : waiting.text}</span>
          <button type="button" className="button small" onClick={actions.answer}>
            Answer in the chat
          </button>
        </p>
      )}
      <Steps node={node} inspect={actions.inspect} />
      {!finished(node) && <LiveText node={node} who={roleName(spec.role)} />}
      {status?.error && <TaskError error={status.error} />}
      {status?.result && <ResultView result={status.result} evidence={evidenceOf(node)} partial={status.phase !== 'Success'} />}
      {node.children.length > 0 && (
        <div className="task-children">
          {node.children.map((child) => (
            <TaskBlock key={child.name} node={child} actions={actions} />
          ))}
        </div>
      )}
      <Facts node={node} actions={actions} />
    </>
  );
}

function Facts({ node, actions }: { node: Node; actions: TaskActions }) {
  const { status } = node.task;
  const { usage } = status ?? {};
  const most = node.agent?.spec.limits?.maxIterations;
  return (
    <div className="facts">
      <span className="mono">{node.name}</span>
      {Boolean(status?.iterations) && (
        <span>
          {plural(status!.iterations!, 'iteration')}
          {most ? ` of ${most}` : ''}
        </span>
      )}
      {Boolean(usage?.totalTokens) && <span>{tokens(usage!.totalTokens)} tokens</span>}
      {Boolean(usage?.modelCalls) && <span>cost {money(usage!.costMicros, usage!.currency)}</span>}
      {node.agent?.spec.model && <span>{node.agent.spec.model}</span>}
      {actions.cancel && !finished(node) && !node.task.spec.cancel && (
        <button type="button" className="button ghost small danger-text" onClick={() => actions.cancel!(node.name)}>
          <Icon name="stop" size={12} /> Cancel
        </button>
      )}
    </div>
  );
}

/** Why a task ended without success. */
export function TaskError({ error: { kind, message } }: { error: { kind: string; message?: string } }) {
  return (
    <div className="note failed">
      <Icon name="alert" size={14} />
      {message ? <ErrorText before={words(kind)} error={kind === 'ModelError' ? explainModel(message) : { title: message }} /> : <strong>{words(kind)}</strong>}
    </div>
  );
}

export function ResultView({ result, evidence, partial }: { result: Result; evidence?: Evidence; partial: boolean }) {
  const files = [...(result.filesCreated ?? []).map((path) => ({ path, sign: '+' })), ...(result.filesModified ?? []).map((path) => ({ path, sign: '~' }))];
  return (
    <div className="result">
      {partial && <span className="label">Partial result</span>}
      {result.summary && <Markdown text={result.summary} />}
      {files.length > 0 && (
        <ul className="files" aria-label="Files that the agent reports">
          {files.map(({ path, sign }) => (
            <li key={sign + path} title={sign === '+' ? 'created, says the agent' : 'changed, says the agent'}>
              <span aria-hidden="true">{sign}</span> {path}
            </li>
          ))}
        </ul>
      )}
      {result.testsRun !== undefined && result.testsRun > 0 && (
        <Claim passed={result.testsPassed ?? 0} run={result.testsRun} evidence={evidence} />
      )}
      {result.data && <DataView data={result.data} />}
      {result.dataOmitted && <p className="label">The data is too large for this page; the transcript has it.</p>}
      {(result.warnings ?? []).map((text) => (
        <p key={text} className="note waiting">
          <Icon name="alert" size={14} /> <span>{text}</span>
        </p>
      ))}
      {(result.details || result.suggestions?.length) && (
        <details>
          <summary>Details</summary>
          {result.details && <Markdown text={result.details} />}
          {result.suggestions && result.suggestions.length > 0 && (
            <>
              <p className="label">Suggestions</p>
              <ul>
                {result.suggestions.map((text) => (
                  <li key={text}>{text}</li>
                ))}
              </ul>
            </>
          )}
        </details>
      )}
    </div>
  );
}
