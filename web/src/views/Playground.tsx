// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useId, useRef, useState } from 'react';
import { rolePrompt, tryRole } from '../api/client';
import type { Spec } from '../model/form';
import { clockSeconds } from '../model/format';
import { Code } from '../parts/Code';
import { useSite } from '../state/context';
import { useSettled } from '../state/hooks';
import { Trouble } from './Loaded';
import { Running } from './TryTool';

/** A version of a role that can be tried beside the draft. */
interface Version {
  label: string;
  spec: unknown;
}

const draft = 'The draft';

/** The effective prompt of a draft, and its try on a task, beside another version of the role. */
export function Playground({ name, spec, stored, builtIn }: { name: string; spec: Spec; stored?: unknown; builtIn: boolean }) {
  const role = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name) ? name : 'draft';
  return (
    <>
      <EffectivePrompt role={role} spec={spec} />
      <Try role={role} spec={spec} versions={[...(stored ? [{ label: 'As it is applied', spec: stored }] : []), ...(builtIn ? [{ label: 'As it is built in', spec: {} }] : [])]} />
    </>
  );
}

/** The system prompt that agents with a role get. */
export function EffectivePrompt({ role, spec, open }: { role: string; spec: unknown; open?: boolean }) {
  const { namespace } = useSite();
  const [shown, setShown] = useState(open);
  const settled = useSettled(JSON.stringify(spec));
  const [answer, setAnswer] = useState<{ systemPrompt: string; fromConfigMap: boolean } | { problem: string }>();
  useEffect(() => {
    if (!shown) return;
    let current = true;
    rolePrompt(namespace, role, JSON.parse(settled)).then(
      (found) => current && setAnswer(found),
      (error: Error) => current && setAnswer({ problem: error.message }),
    );
    return () => {
      current = false;
    };
  }, [namespace, role, settled, shown]);
  return (
    <details className={open ? 'effective' : 'panel effective'} open={open} onToggle={(event) => event.currentTarget.open && setShown(true)}>
      <summary>Effective prompt</summary>
      {answer && 'problem' in answer && <Trouble>{answer.problem}</Trouble>}
      {answer && 'systemPrompt' in answer && (
        <>
          <p className="muted">What an agent gets before its task{answer.fromConfigMap && ', without the texts of ConfigMaps'}. The transcript of a run has it exactly.</p>
          {answer.systemPrompt ? <Code text={answer.systemPrompt} label={`Effective prompt of ${role}`} /> : <p className="muted">None: a remote agent has its own.</p>}
        </>
      )}
    </details>
  );
}

/** Runs the draft on a task, and another version on the same task. */
function Try({ role, spec, versions }: { role: string; spec: Spec; versions: Version[] }) {
  const site = useSite();
  const [instruction, setInstruction] = useState('');
  const [kept, setKept] = useState<Version[]>([]);
  const [beside, setBeside] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [runs, setRuns] = useState<{ label: string; task: string }[]>([]);
  const field = useId();
  const results = useRef<HTMLDivElement>(null);
  useEffect(() => results.current?.scrollIntoView?.({ block: 'nearest' }), [runs.length]);
  const others = [...versions, ...kept];
  const other = others.find(({ label }) => label === beside);
  const may = site.person.may.createTasks && site.person.may['create/agentroles'];
  const run = async () => {
    setBusy(true);
    setProblem(undefined);
    setRuns([]);
    try {
      for (const { label, spec: tried } of [{ label: draft, spec }, ...(other ? [other] : [])]) {
        const { metadata } = await tryRole(site.namespace, role, tried, instruction);
        setRuns((before) => [...before, { label, task: metadata.name }]);
      }
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  const keep = () => {
    const label = `Draft of ${clockSeconds(Date.now())}`;
    setKept([...kept, { label, spec }]);
    setBeside(label);
  };
  return (
    <section className="panel try-role" aria-label="Try it">
      <h2>Try it</h2>
      <p className="muted">Runs the draft on a task without applying it: with your permissions, as a temporary role that is deleted with the task, after a day.</p>
      {!may && <p className="muted">You need to create agenttasks and agentroles in this namespace.</p>}
      <label htmlFor={field}>Task</label>
      <textarea id={field} className="input" rows={3} value={instruction} disabled={!may} onChange={(event) => setInstruction(event.target.value)} />
      <label htmlFor={`${field}-beside`}>Beside it, on the same task</label>
      <select id={`${field}-beside`} className="input" value={beside} disabled={!may} onChange={(event) => setBeside(event.target.value)}>
        <option value="">nothing</option>
        {others.map(({ label }) => (
          <option key={label}>{label}</option>
        ))}
      </select>
      <div className="try-foot">
        <button type="button" className="button small" onClick={keep}>
          Keep this draft to compare
        </button>
        <button type="button" className="button primary small" disabled={!may || busy || !instruction.trim()} onClick={() => void run()}>
          Try it
        </button>
      </div>
      {problem && <Trouble>{problem}</Trouble>}
      {runs.length > 0 && (
        <div className="try-runs" ref={results}>
          {runs.map(({ label, task }) => (
            <div key={task}>
              <h3>{label}</h3>
              <Running name={task} />
            </div>
          ))}
        </div>
      )}
    </section>
  );
}
