// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { compareRuns } from '../api/client';
import { transcriptOf } from '../api/history';
import type { Comparison, Figures, Side, Step, Task } from '../api/types';
import { reportedHunks } from '../model/diff';
import { duration, moneyByCurrency, tokens } from '../model/format';
import { transcriptName } from '../model/tree';
import { DiffLines } from '../parts/DiffView';
import { Empty } from '../parts/Empty';
import { Icon } from '../parts/Icon';
import { useSite, useSnapshot } from '../state/context';
import { useLoad } from '../state/hooks';
import { go, hrefOf, useLink } from '../state/route';
import { WhenLoaded } from './Loaded';

/** The run that a run is compared with if the person has not chosen one: that of which it is a fork. */
export const originOf = ({ spec: { fork } }: Task): string | undefined => fork?.task ?? fork?.subAgent;

/** A run beside another one, with the first difference marked. */
export function Compare({ task, other = originOf(task) }: { task: Task; other?: string }) {
  const { namespace, person } = useSite();
  const { tasks, inbox } = useSnapshot();
  const [typed, setTyped] = useState(other ?? '');
  const known = [...new Set(inbox.tasks.filter(({ metadata }) => metadata.namespace === namespace && metadata.name !== task.metadata.name).map(({ metadata }) => metadata.name))].sort();
  const show = () => go(hrefOf({ namespace, run: task.metadata.name, view: 'compare', other: typed.trim() }));
  return (
    <div className="run" tabIndex={0} role="region" aria-label="Comparison">
      <div className="run-inner compare">
        <form
          className="compare-with"
          onSubmit={(event) => {
            event.preventDefault();
            show();
          }}
        >
          <label htmlFor="compare-with">Compare with</label>
          <input id="compare-with" className="input mono" list="compare-runs" placeholder="Name of another task" value={typed} onChange={(event) => setTyped(event.target.value)} />
          <datalist id="compare-runs">
            {known.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
          <button type="submit" className="button small" disabled={!typed.trim()}>
            Compare
          </button>
        </form>
        {!person.may.readTranscripts ? (
          <p className="note">You may not read transcripts in this namespace.</p>
        ) : other && task.spec.type === 'Agent' && !task.status?.subAgent ? (
          <Empty icon="clock" title="This run has not started">The comparison appears here when it starts.</Empty>
        ) : other ? (
          <Compared phase={task.status?.phase} first={transcriptName(tasks, other)} second={task.spec.type === 'Tool' ? transcriptOf('task', task.metadata.name) : transcriptName(tasks, task.metadata.name)} names={[other, task.metadata.name]} />
        ) : (
          <Empty icon="diff" title="Choose another run">Both runs are shown side by side, with the first difference marked.</Empty>
        )}
      </div>
    </div>
  );
}

/** The comparison, which is read again when the run reaches another phase. */
function Compared({ phase, first, second, names }: { phase?: string; first: string; second: string; names: [string, string] }) {
  const { namespace } = useSite();
  const [loaded, again] = useLoad(() => compareRuns(namespace, first, second), [namespace, first, second, phase]);
  return (
    <WhenLoaded loaded={loaded} again={again} what="both runs" problem="The runs cannot be compared">
      {(comparison) => (
        <>
          <p role="status">
            {comparison.same ? `The runs are the same: ${comparison.rows.length} steps.` : `The first difference is step ${comparison.firstDifference} of ${comparison.rows.length}.`}{' '}
            <button type="button" className="button small" onClick={again}>
              Read again
            </button>
          </p>
          <Sides comparison={comparison} names={names} />
          <Steps comparison={comparison} names={names} />
        </>
      )}
    </WhenLoaded>
  );
}

const cost = ({ costMicros = {}, unknownCost }: Figures) => (unknownCost ? 'unknown' : moneyByCurrency(Object.entries(costMicros).map(([currency, micros]) => ({ currency, costMicros: micros }))));

function Sides({ comparison: { first, second }, names }: { comparison: Comparison; names: [string, string] }) {
  const { namespace } = useSite();
  const lines: [string, (side: Side) => string | undefined][] = [
    ['Role', (side) => side.role],
    ['Model', (side) => [side.modelProvider, side.model].filter(Boolean).join('/')],
    ['State', (side) => side.phase],
    ['Model calls', (side) => String(side.modelCalls)],
    ['Tool calls', (side) => String(side.toolCalls)],
    ['Tokens', (side) => tokens(side.usage.tokens)],
    ['Cost', (side) => cost(side.usage)],
    ['Time', (side) => duration(side.durationMillis)],
  ];
  return (
    <div className="compare-scroll" tabIndex={0} role="region" aria-label="What the runs are">
      <table className="compare-sides">
        <thead>
          <tr>
            <td />
            {names.map((name) => (
              <th key={name} scope="col">
                <RunLink namespace={namespace} name={name} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(([term, of]) => (
            <tr key={term} className={of(first) === of(second) ? undefined : 'differs'}>
              <th scope="row">{term}</th>
              <td>{of(first) || '–'}</td>
              <td>{of(second) || '–'}</td>
            </tr>
          ))}
          <tr className={first.systemPrompt === second.systemPrompt ? undefined : 'differs'}>
            <th scope="row">Prompt</th>
            <td colSpan={2}>{first.systemPrompt === second.systemPrompt ? 'the same' : 'another one'}</td>
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function RunLink({ namespace, name }: { namespace: string; name: string }) {
  return (
    <a className="mono" {...useLink(hrefOf({ namespace, run: name }))}>
      {name}
    </a>
  );
}

const changes = { Same: 'the same', Changed: 'differs', Removed: 'only in the first run', Added: 'only in the second run' };

function Steps({ comparison: { rows, firstDifference }, names }: { comparison: Comparison; names: [string, string] }) {
  return (
    <ol className="compare-rows" aria-label="Steps of both runs">
      {rows.map(({ change, first, second, differs, details }, i) => (
        <li key={i} className={`compare-row ${change.toLowerCase()}${i + 1 === firstDifference ? ' first' : ''}`} aria-label={`Step ${i + 1}, ${changes[change]}`}>
          {i + 1 === firstDifference && (
            <p className="compare-mark">
              <Icon name="chevron" size={12} /> The first difference{differs && `: ${differs.join(', ')}`}
            </p>
          )}
          <div className="compare-pair">
            <StepView step={first} run={names[0]} />
            <StepView step={second} run={names[1]} />
          </div>
          {details && (
            <details open={i + 1 === firstDifference}>
              <summary>What differs</summary>
              {Object.entries(details).map(([field, diff]) => (
                <div key={field}>
                  <p className="label">{field}</p>
                  {reportedHunks(diff).map((hunk, at) => (
                    <DiffLines key={at} lines={hunk.lines} label={`Difference of ${field}`} />
                  ))}
                </div>
              ))}
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

const kinds: Record<string, string> = { Input: 'Input', ModelCall: 'Model', Summary: 'Summary', ToolCall: 'Call', Error: 'Model error', Limit: 'Limit reached', Cancelled: 'Cancelled', End: 'End' };

function StepView({ step, run }: { step?: Step; run: string }) {
  if (!step) return <div className="compare-step none">not in {run}</div>;
  const facts = [step.phase, step.usage?.tokens && `${tokens(step.usage.tokens)} tokens`, step.durationMillis > 0 && duration(step.durationMillis)].filter(Boolean);
  return (
    <div className="compare-step">
      <p>
        <strong>{kinds[step.kind] ?? step.kind}</strong> {step.tool && <code>{step.tool}</code>} <span className="muted">{facts.join(' · ')}</span>
      </p>
      {(step.text || step.arguments) && <p className={step.text ? 'compare-text' : 'compare-text mono'}>{step.text || step.arguments}</p>}
    </div>
  );
}
