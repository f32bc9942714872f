// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { listOf, policiesOf, tryPolicy } from '../api/client';
import type { AppliedPolicy, PolicyTrial, Resource } from '../api/types';
import type { Spec } from '../model/form';
import { day, plural, pretty } from '../model/format';
import { policyForm } from '../model/policy';
import { Code } from '../parts/Code';
import { Empty } from '../parts/Empty';
import { Segments } from '../parts/Segments';
import { useSite } from '../state/context';
import { useLoad, usePolled } from '../state/hooks';
import { hrefOf, useLink } from '../state/route';
import { Facts, quiet, Ready, Trouble, WhenLoaded } from './Loaded';
import { Page } from './Page';
import { EditLink, Setup, SetUp } from './Setup';

/** The policies that decide which calls agents of a namespace may make, or the form of one. */
export function PoliciesPage({ onMenu, edit }: { onMenu: () => void; edit?: string }) {
  return edit === undefined ? <Applied onMenu={onMenu} /> : <PolicyForm onMenu={onMenu} edit={edit} />;
}

function Applied({ onMenu }: { onMenu: () => void }) {
  const { namespace } = useSite();
  const [loaded, again] = usePolled(() => policiesOf(namespace), [namespace]);
  return (
    <Page title="Policies" subtitle="Which calls agents of this namespace may make" onMenu={onMenu}>
      <WhenLoaded loaded={loaded} again={again} what="policies" problem="Policies cannot be read">
        {({ items, unreadable }) => (
          <>
            {unreadable && <p className="note">The list may be incomplete: {unreadable}.</p>}
            {items.length === 0 ? (
              <Empty icon="ban" title="No policies yet" actions={<SetUp page="policies">Set up a policy</SetUp>}>
                Agents make every call that their roles allow. A ToolPolicy restricts calls by their arguments, and by what the agent has read.
              </Empty>
            ) : (
              <>
                <p>
                  <SetUp page="policies">New policy</SetUp>
                </p>
                <div className="cards">
                  {items.map((policy) => (
                    <PolicyCard key={`${policy.namespace}/${policy.name}`} policy={policy} own={policy.namespace === namespace} />
                  ))}
                </div>
              </>
            )}
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

/** own: it is in the namespace. Others are those of the operator's namespace. */
function PolicyCard({ policy: { namespace, name, mode, tools, roles, rules, ready, reason, message }, own }: { policy: AppliedPolicy; own: boolean }) {
  return (
    <article className="card" aria-label={name}>
      <header>
        <h2 className="mono">{name}</h2>
        <Ready conditions={[{ type: 'Ready', status: ready, reason: reason ?? 'NotChecked', message: message || 'The operator has not read it yet.' }]} />
      </header>
      {ready === 'True' && message && <p className="muted">{message}</p>}
      <Facts
        facts={[
          ['Mode', mode === 'Audit' ? 'Audit: without an effect' : mode],
          ['Tools', tools?.join(', ') ?? 'all'],
          ['Roles', roles?.join(', ') ?? 'all'],
          ['Rules', rules.join(', ')],
          ['From', own ? undefined : `the namespace ${namespace}`],
        ]}
      />
      {own && <EditLink page="policies" name={name} />}
    </article>
  );
}

function PolicyForm({ onMenu, edit }: { onMenu: () => void; edit: string }) {
  const { namespace } = useSite();
  const [loaded, again] = useLoad(() => quiet(listOf<Resource & { spec: unknown }>(namespace, 'toolpolicies')), [namespace]);
  return (
    <Page title={edit || 'New policy'} subtitle="Nothing is written until you apply it" onMenu={onMenu}>
      <WhenLoaded loaded={loaded} again={again} what="policies" problem="Policies cannot be read">
        {(all) => <Setup form={policyForm} page="policies" name={edit} all={all} more={(_, spec, __, name) => <Trial spec={spec} name={name || 'draft'} />} />}
      </WhenLoaded>
    </Page>
  );
}

const spans = { '1': 'A day', '7': 'A week', '30': '30 days' };

/** What the policy would have done with recorded calls. */
export function Trial({ spec, name }: { spec: Spec; name: string }) {
  const { namespace, person } = useSite();
  const [days, setDays] = useState<keyof typeof spans>('7');
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState<{ spec: string; trial: PolicyTrial } | { spec: string; problem: string }>();
  const text = JSON.stringify({ spec, days });
  // Another draft needs another trial.
  const current = tried?.spec === text ? tried : undefined;
  const attempt = async () => {
    setBusy(true);
    try {
      setTried({ spec: text, trial: await tryPolicy(namespace, name, spec, Number(days)) });
    } catch (error) {
      setTried({ spec: text, problem: (error as Error).message });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="panel try-policy" aria-label="Try it">
      <h2>Try it on recorded calls</h2>
      <p className="muted">Evaluates the policy on the calls that agents of this namespace made. Nothing is written.</p>
      <div className="try-foot">
        <Segments label="Time" value={days} options={Object.entries(spans).map(([value, label]) => ({ value: value as keyof typeof spans, label }))} onChange={setDays} />
        <button type="button" className="button small" disabled={busy || !person.may.readTranscripts || !Array.isArray(spec.rules)} onClick={() => void attempt()}>
          {busy ? 'Reading…' : 'Try it'}
        </button>
      </div>
      {!person.may.readTranscripts && <p className="muted">You may not read transcripts in this namespace.</p>}
      <div aria-live="polite" className="try-policy">
        {current && 'problem' in current && <Trouble>{current.problem}</Trouble>}
        {current && 'trial' in current && <Findings trial={current.trial} />}
      </div>
    </section>
  );
}

const verdicts = { Deny: 'denied', RequireApproval: 'to a person', Unknown: 'unknown' };

function Findings({ trial }: { trial: PolicyTrial }) {
  const { findings = [] } = trial;
  const stopped = trial.denied + trial.approvals + trial.unknown;
  return (
    <>
      {trial.incomplete && <Trouble>There was no time to read all calls: choose a shorter time, or use kubectl nestor policy test.</Trouble>}
      <p>
        {plural(trial.calls, 'call')} of {plural(trial.runs, 'run')}, {trial.matched} matched: {trial.denied} denied{trial.failed > 0 && ` (an expression fails: ${trial.failed})`}, {trial.approvals} to a person
        {trial.unknown > 0 && `, ${trial.unknown} unknown`}.
      </p>
      <ul className="try-found">
        {findings.map((finding, i) => (
          <li key={i}>
            <details>
              <summary>
                <span className={`source${finding.action === 'Deny' ? ' writes' : ''}`}>{verdicts[finding.action]}</span> <code>{finding.tool}</code> <time dateTime={finding.time}>{day(finding.time)}</time>
              </summary>
              <div className="finding">
                <Facts
                  facts={[
                    ['Run', <RunLink transcript={finding.transcript} />],
                    ['Rules', finding.verdicts.map(({ rule, message }) => [rule, message].filter(Boolean).join(': ')).join('; ')],
                    ['Labels', finding.contentLabels?.join(', ')],
                    ['Not known', finding.unknown?.join(', ')],
                  ]}
                />
                {finding.arguments !== undefined && <Code label={`Arguments of ${finding.tool}`} language="json" text={pretty(JSON.stringify(finding.arguments))} />}
              </div>
            </details>
          </li>
        ))}
      </ul>
      {stopped > findings.length && <p className="muted">The first {findings.length} of {stopped} calls.</p>}
    </>
  );
}

/** The run of a transcript, whose name is that of the object after its kind. */
function RunLink({ transcript }: { transcript: string }) {
  const { namespace } = useSite();
  const { kind, name } = /^(?<kind>[a-z]+)\.(?<name>.+)$/.exec(transcript)?.groups ?? {};
  const link = useLink(hrefOf({ namespace, ...(kind === 'chat' ? { chat: name } : { run: name }) }));
  return kind === 'chat' || kind === 'task' ? <a {...link}>{name}</a> : <span className="mono">{name ?? transcript}</span>;
}
