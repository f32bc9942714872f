// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { ReactNode } from 'react';
import { evaluation, evaluations } from '../api/client';
import type { Badge as BadgeKind, CaseResult, Evaluation, EvaluationLane } from '../api/types';
import { costIncreaseOf, messageOf, passedOf, standingOf } from '../model/evaluation';
import { ago, brief, day, duration, money, plural, tokens } from '../model/format';
import { Badge } from '../parts/Badge';
import { Empty } from '../parts/Empty';
import { useSite } from '../state/context';
import { useNow, usePolled } from '../state/hooks';
import { hrefOf, type Route, useLink } from '../state/route';
import { Facts, WhenLoaded } from './Loaded';
import { Page } from './Page';
import '../styles/evaluations.css';

const manual = 'https://github.com/nestor-dev/nestor/blob/main/docs/tasks/change-a-prompt.md';

/** The evaluations of a namespace, or one of them. */
export function EvaluationsPage({ onMenu, name }: { onMenu: () => void; name?: string }) {
  return name === undefined ? <All onMenu={onMenu} /> : <One onMenu={onMenu} name={name} />;
}

function All({ onMenu }: { onMenu: () => void }) {
  const { namespace } = useSite();
  const [loaded, again] = usePolled(() => evaluations(namespace), [namespace]);
  return (
    <Page title="Evaluations" subtitle="How new revisions of roles do on recorded runs" onMenu={onMenu}>
      <WhenLoaded loaded={loaded} again={again} what="evaluations" problem="Evaluations cannot be read">
        {(all) => (all.length === 0 ? <NoEvaluations /> : <List all={all} />)}
      </WhenLoaded>
    </Page>
  );
}

function NoEvaluations() {
  const { namespace } = useSite();
  const read = (
    <a className="button" href={manual} target="_blank" rel="noopener noreferrer">
      Change a prompt safely
    </a>
  );
  return (
    <Empty icon="check" title="No evaluations yet" actions={read}>
      <p>An AgentEvaluation is a suite of recorded runs. Each new revision of a gated role does their work again, beside the promoted revision, before it is promoted.</p>
      <pre className="code">
        <code>{`kubectl apply -n ${namespace} -f evaluation.yaml`}</code>
      </pre>
    </Empty>
  );
}

/** The verdict of an evaluation, or its progress. */
function Standing({ of }: { of: Evaluation }) {
  const { badge, label } = standingOf(of);
  return <Badge kind={badge} label={label} />;
}

function Place({ to, label, children }: { to: Omit<Partial<Route>, 'namespace'>; label?: string; children: ReactNode }) {
  const { namespace } = useSite();
  return (
    <a {...useLink(hrefOf({ namespace, ...to }))} aria-label={label}>
      {children}
    </a>
  );
}

const EvaluationLink = ({ name }: { name: string }) => <Place to={{ page: 'evaluations', evaluation: name }}>{name}</Place>;

/** A table that scrolls if the window is narrow. */
function Table({ label, head, children }: { label: string; head: string[]; children: ReactNode }) {
  return (
    <div className="table evaluation" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>{head.map((title, i) => (title ? <th key={i} scope="col">{title}</th> : <td key={i} />))}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

const none = '–';

function List({ all }: { all: Evaluation[] }) {
  const now = useNow(true, 15_000);
  return (
    <Table label="Evaluations of this namespace" head={['Evaluation', 'Role', 'Verdict', 'Passed', 'Regressions', 'Cost increase', 'Candidate', 'When']}>
      {all.map((one) => {
        const { metadata, spec, status: { candidate, candidateRevision, completionTime, startTime, regressions = 0, verdict } = {} } = one;
        const time = completionTime ?? startTime;
        return (
          <tr key={metadata.uid}>
            <th scope="row">
              <EvaluationLink name={metadata.name} />
            </th>
            <td>
              <Place to={{ page: 'roles', edit: spec.role }}>{spec.role}</Place>
            </td>
            <td>
              <Standing of={one} />
            </td>
            <td>
              {passedOf(candidate) ?? none}
              {candidate?.inconclusive ? <span className="muted">, {candidate.inconclusive} inconclusive</span> : null}
            </td>
            <td>{verdict ? regressions : none}</td>
            <td>{costIncreaseOf(one) ?? none}</td>
            <td>{candidateRevision ? <Revision revision={candidateRevision} /> : none}</td>
            <td>{time ? <time dateTime={time} title={day(time)}>{ago(time, now)}</time> : none}</td>
          </tr>
        );
      })}
    </Table>
  );
}

const Revision = ({ revision }: { revision: string }) => <code title={revision}>{brief(revision)}</code>;

function One({ onMenu, name }: { onMenu: () => void; name: string }) {
  const { namespace } = useSite();
  const [loaded, again] = usePolled(() => evaluation(namespace, name), [namespace, name]);
  return (
    <Page title={name} subtitle="Recorded runs that each new revision of a role does again" onMenu={onMenu}>
      <p>
        <Place to={{ page: 'evaluations' }}>All evaluations</Place>
      </p>
      <WhenLoaded loaded={loaded} again={again} what="the evaluation" problem="The evaluation cannot be read">
        {(one) => (
          <>
            <Verdict of={one} />
            <Lanes of={one} />
            <Cases of={one} />
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

function Verdict({ of }: { of: Evaluation }) {
  const { spec, status: { runs = [], startTime, completionTime } = {} } = of;
  return (
    <section className="panel trigger" aria-label="Verdict">
      <header className="trigger-head">
        <h2>Verdict</h2>
        <Standing of={of} />
      </header>
      <p role="status">{messageOf(of) ?? 'The operator has not read it yet.'}</p>
      <Facts
        className="trigger-facts"
        facts={[
          ['Role', <Place to={{ page: 'roles', edit: spec.role }}>{spec.role}</Place>],
          ['Record', plural(runs.length, 'run') + ((spec.repeats ?? 1) > 1 ? `, ${spec.repeats} times each` : '')],
          ['Results', spec.toolResults === 'ReadOnly' ? 'recorded; read-only tools also run' : 'recorded'],
          ['Started', startTime && day(startTime)],
          ['Ended', completionTime && day(completionTime)],
        ]}
      />
    </section>
  );
}

/** Both revisions side by side, with what the candidate has to reach. */
function Lanes({ of }: { of: Evaluation }) {
  const { spec: { thresholds = {} }, status = {} } = of;
  const { verdict, baseline, candidate, baselineRevision, candidateRevision } = status;
  const percent = (rate: number | undefined) => rate !== undefined && `${rate}%`;
  const both = (value: (lane: EvaluationLane) => ReactNode): [ReactNode, ReactNode] => [baseline && value(baseline), candidate && value(candidate)];
  const rows: [string, [ReactNode, ReactNode], ReactNode?][] = [
    ['Revision', [baselineRevision && <Revision revision={baselineRevision} />, candidateRevision && <Revision revision={candidateRevision} />]],
    ['Passed', both(passedOf)],
    ['Pass rate', both(({ passRate }) => percent(passRate)), `at least ${thresholds.minPassRate ?? 100}%`],
    ['Regressions', ['', verdict && (status.regressions ?? 0)], `at most ${thresholds.maxRegressions ?? 0}`],
    ['Inconclusive', both(({ inconclusive = 0 }) => inconclusive), `at most ${thresholds.maxInconclusive ?? 0}`],
    ['Tokens', both(({ totalTokens = 0 }) => tokens(totalTokens))],
    ['Cost', both(({ costMicros, currency }) => money(costMicros, currency))],
    ['Cost increase', ['', costIncreaseOf(of)], thresholds.maxCostIncreasePercent !== undefined && `at most ${thresholds.maxCostIncreasePercent}%`],
    ['Average time', both(({ averageDurationSeconds = 0 }) => duration(averageDurationSeconds * 1000))],
  ];
  return (
    <section className="panel" aria-label="Both revisions">
      <h2>Both revisions</h2>
      <Table label="Figures of both revisions" head={['', 'Promoted', 'Candidate', 'Threshold']}>
        {rows.map(([term, cells, threshold]) => (
          <tr key={term}>
            <th scope="row">{term}</th>
            {cells.map((cell, i) => (
              <td key={i}>{cell === '' || cell === 0 ? cell : cell || none}</td>
            ))}
            <td className="muted">{threshold}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

const outcomes: Record<CaseResult['outcome'], BadgeKind> = { Regressed: 'failed', Failed: 'failed', Inconclusive: 'waiting', Passed: 'success' };

/** The cases as the operator has sorted them. */
function Cases({ of: { spec: { repeats = 1 }, status: { verdict, cases = [], runs = [] } = {} } }: { of: Evaluation }) {
  return (
    <section className="panel" aria-label="Cases">
      <h2>Cases, the worst first</h2>
      {!verdict ? (
        <p className="muted">The cases appear here with the verdict.</p>
      ) : (
        <Table label="Results of the cases" head={['Outcome', 'Case', 'Recorded run', 'Promoted', 'Candidate', "Candidate's run", 'Message']}>
          {cases.map(({ case: name, task, outcome, baselinePassed = 0, candidatePassed = 0, candidateTask, message }) => (
            <tr key={`${name}/${task}`}>
              <td>
                <Badge kind={outcomes[outcome]} label={outcome} />
              </td>
              <th scope="row">{name}</th>
              <td>
                <Place to={{ run: task }}>{task}</Place>
              </td>
              <td>
                {baselinePassed} of {repeats} passed
              </td>
              <td>
                {candidatePassed} of {repeats} passed
              </td>
              <td className="evaluation-run">
                {candidateTask && (
                  <>
                    <Place to={{ run: candidateTask }} label={`Run of the candidate for ${task}`}>
                      Run
                    </Place>
                    <Place to={{ run: candidateTask, view: 'compare' }} label={`Compare with ${task}`}>
                      Compare
                    </Place>
                  </>
                )}
              </td>
              <td className="evaluation-message">{message}</td>
            </tr>
          ))}
        </Table>
      )}
      {verdict && runs.length > cases.length && (
        <p className="muted">
          The worst {cases.length} of {plural(runs.length, 'recorded run')}.
        </p>
      )}
    </section>
  );
}

/** The evaluations of a role. */
export function EvaluationsOf({ role }: { role: string }) {
  const { namespace } = useSite();
  const [loaded] = usePolled(() => evaluations(namespace), [namespace]);
  const own = loaded.state === 'done' ? loaded.value.filter(({ spec }) => spec.role === role) : [];
  if (own.length === 0) return null;
  return (
    <ul className="plain" aria-label="Evaluations">
      {own.map((one) => (
        <li key={one.metadata.uid}>
          <span>
            Evaluation <EvaluationLink name={one.metadata.name} />
          </span>
          <Standing of={one} />
          {one.status?.candidateRevision && (
            <span className="muted">
              revision <Revision revision={one.status.candidateRevision} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
