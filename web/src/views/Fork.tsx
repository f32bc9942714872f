// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useState } from 'react';
import { applyTask } from '../api/client';
import { type ForkDraft, type Forked, forkCommand, forkOf, isChanged, repliesOf } from '../model/fork';
import { randomSuffix } from '../model/format';
import { toYAML } from '../model/yaml';
import { Dialog } from '../parts/Dialog';
import { FieldInput } from '../parts/FieldInput';
import { Code } from '../parts/Markdown';
import { useSite } from '../state/context';
import { go, hrefOf } from '../state/route';
import { Trouble } from './Loaded';
import { useChoices } from './Editor';

const replies = {
  Live: 'The model: every call is made',
  Recorded: 'The record: no call is made',
} as const;

const results = {
  Recorded: 'The record: no call is made',
  ReadOnly: 'The record; read-only tools also run',
  Live: 'The tools: every call is made',
} as const;

/** Continues a recorded run from one of its entries, as a new task. */
export function ForkDialog({ forked, sequence, onClose }: { forked: Forked; sequence: number; onClose: () => void }) {
  const site = useSite();
  const [draft, setDraft] = useState<ForkDraft>({ sequence, role: '', modelProvider: '', model: '', instruction: '', modelReplies: 'Live', toolResults: 'Recorded' });
  const [suffix] = useState(randomSuffix);
  const [problem, setProblem] = useState<string>();
  const [sending, setSending] = useState(false);
  const choices = useChoices(picked);
  const fork = forkOf(forked, draft, site.person, suffix);
  const change = (field: keyof ForkDraft) => (value: unknown) => setDraft((before) => ({ ...before, [field]: value ?? '' }));
  const create = async () => {
    setSending(true);
    setProblem(undefined);
    try {
      await applyTask(fork);
      onClose();
      go(hrefOf({ namespace: fork.metadata.namespace, run: fork.metadata.name, view: 'compare' }));
    } catch (error) {
      setProblem((error as Error).message);
      setSending(false);
    }
  };
  return (
    <Dialog title={`Fork ${forked.task.metadata.name}`} onClose={onClose} wide>
      <div className="dialog-text fork">
        <p>
          A new task begins with the history up to entry {sequence}, or up to the last one before it at which no call, agent or question is outstanding. Leave a field empty to keep what was recorded.
        </p>
        <FieldInput field={{ path: ['role'], label: 'Role', kind: 'text', pick: 'roles', placeholder: 'as recorded' }} value={draft.role} usual={undefined} choices={choices} onChange={change('role')} />
        <FieldInput field={{ path: ['modelProvider'], label: 'Provider', kind: 'text', pick: 'providers', placeholder: 'as recorded' }} value={draft.modelProvider} usual={undefined} choices={choices} onChange={change('modelProvider')} />
        <FieldInput field={{ path: ['model'], label: 'Model', kind: 'text', placeholder: 'as recorded' }} value={draft.model} usual={undefined} choices={choices} onChange={change('model')} />
        <FieldInput field={{ path: ['instruction'], label: 'Instruction', kind: 'long', rows: 2, about: 'The message with which the run continues. Before the first reply, it replaces the instruction of the task.' }} value={draft.instruction} usual={undefined} choices={choices} onChange={change('instruction')} />
        <Source label="Replies of the model" field="modelReplies" options={replies} value={repliesOf(draft)} fixed={isChanged(draft) && 'The recorded replies do not fit a run in which something is replaced.'} onChange={change('modelReplies')} />
        <Source label="Results of calls" field="toolResults" options={results} value={draft.toolResults} onChange={change('toolResults')} />
        <details className="again-yaml">
          <summary>The same with kubectl</summary>
          <Code text={forkCommand(forked, draft)} language="shell" label="Command" />
          <Code text={toYAML(fork)} language="yaml" label="YAML of the fork" />
        </details>
        {problem && <Trouble>{problem}</Trouble>}
      </div>
      <footer className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Not now
        </button>
        <button type="button" className="button primary" disabled={sending} onClick={() => void create()}>
          Fork
        </button>
      </footer>
    </Dialog>
  );
}

const picked = ['roles', 'providers'] as const;

/** Where a part of the fork comes from. fixed: why the person cannot choose. */
function Source({ label, field, options, value, fixed = false, onChange }: { label: string; field: string; options: Record<string, string>; value: string; fixed?: string | false; onChange: (value: string) => void }) {
  const id = useId();
  return (
    <div className="editor-field">
      <label htmlFor={id}>
        {label} <code className="muted">{field}</code>
      </label>
      <select id={id} className="input" value={value} disabled={fixed !== false} aria-describedby={fixed ? `${id}-fixed` : undefined} onChange={(event) => onChange(event.target.value)}>
        {Object.entries(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
      {fixed && (
        <span id={`${id}-fixed`} className="muted">
          {fixed}
        </span>
      )}
    </div>
  );
}
