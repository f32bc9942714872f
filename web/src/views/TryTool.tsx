// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useState } from 'react';
import { createTask, task } from '../api/client';
import type { Task, ToolInfo, Workspace } from '../api/types';
import { duration, money, randomSuffix, slug, tokens } from '../model/format';
import { requesterOf } from '../model/requester';
import { argumentsOf, fieldsOf, parseArguments, type Field } from '../model/schema';
import { Badge } from '../parts/Badge';
import { DataView } from '../parts/DataView';
import { Code } from '../parts/Markdown';
import { useSite } from '../state/context';
import { usePolled } from '../state/hooks';
import { useLink } from '../state/route';
import { Trouble } from './Loaded';

/** A form that calls a tool with an AgentTask of type Tool: with the permissions of the person, and recorded. The person requests exactly this call, so that no other approval follows. */
export function TryTool({ name, tool, workspace }: { name: string; tool: ToolInfo; workspace: boolean }) {
  const site = useSite();
  const fields = fieldsOf(tool.inputSchema);
  const [asJson, setAsJson] = useState(fields === undefined);
  const [texts, setTexts] = useState(() => Object.fromEntries((fields ?? []).map((field) => [field.name, field.initial])));
  const [json, setJson] = useState('{}');
  const [files, setFiles] = useState<Workspace | undefined>(workspace ? site.person.defaultWorkspace ?? { emptyDir: {} } : undefined);
  const [running, setRunning] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [sure, setSure] = useState(tool.readOnly ?? false);
  const made = asJson || !fields ? fromJson(json) : argumentsOf(fields, texts);
  const broken = Object.keys(made.problems).length > 0;
  const run = async () => {
    setProblem(undefined);
    try {
      const created = await createTask(site.namespace, slug(`try ${name.replaceAll('_', '-')}`, randomSuffix()), { type: 'Tool', tool: name, arguments: made.arguments, ...requesterOf(site.person, name), ttlSecondsAfterFinished: 86_400, ...(files ? { workspace: files } : {}) });
      setRunning(created.metadata.name);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form
      className="try"
      aria-label={`Try ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        if (!broken && sure) void run();
      }}
    >
      {asJson || !fields ? (
        <label className="try-field">
          <span>Arguments, as JSON</span>
          <textarea className="input mono" rows={5} value={json} spellCheck={false} onChange={(event) => setJson(event.target.value)} />
          {made.problems.json && <span className="try-problem">{made.problems.json}</span>}
        </label>
      ) : (
        fields.map((field) => <Input key={field.name} field={field} text={texts[field.name] ?? ''} problem={texts[field.name] ? made.problems[field.name] : undefined} onChange={(text) => setTexts({ ...texts, [field.name]: text })} />)
      )}
      {files && <Files files={files} onChange={setFiles} />}
      {!tool.readOnly && (
        <label className="try-sure">
          <input type="checkbox" checked={sure} onChange={(event) => setSure(event.target.checked)} /> Make this call without another approval: the tool may change something
        </label>
      )}
      <div className="try-foot">
        <button type="submit" className="button primary small" disabled={broken || !sure}>
          Run
        </button>
        {fields && (
          <button
            type="button"
            className="button small"
            onClick={() => {
              if (!asJson) setJson(JSON.stringify(argumentsOf(fields, texts).arguments, null, 2));
              setAsJson(!asJson);
            }}
          >
            {asJson ? 'Use the form' : 'Write JSON'}
          </button>
        )}
        <span className="muted">A task of type Tool makes the call. It is deleted a day after its end.</span>
      </div>
      {problem && <Trouble>{problem}</Trouble>}
      {running && <Running key={running} name={running} />}
    </form>
  );
}

function fromJson(text: string): ReturnType<typeof argumentsOf> {
  try {
    return { arguments: parseArguments(text), problems: {} };
  } catch (error) {
    return { arguments: {}, problems: { json: (error as Error).message } };
  }
}

function Input({ field: { name, kind, required, description, options }, text, problem, onChange }: { field: Field; text: string; problem?: string; onChange: (text: string) => void }) {
  const id = useId();
  const common = { id, className: 'input', value: text, 'aria-describedby': description || problem ? `${id}-about` : undefined, 'aria-invalid': problem ? true : undefined };
  const hint = { text: '', number: 'number', boolean: '', choice: '', lines: 'one per line', json: 'JSON' }[kind];
  return (
    <div className="try-field">
      <label htmlFor={id}>
        <code>{name}</code>
        {required && <span className="muted"> required</span>}
        {hint && <span className="muted"> {hint}</span>}
      </label>
      {kind === 'choice' || kind === 'boolean' ? (
        <select {...common} onChange={(event) => onChange(event.target.value)}>
          <option value="">not set</option>
          {(options ?? ['true', 'false']).map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      ) : kind === 'number' ? (
        <input {...common} inputMode="decimal" onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea {...common} className={`input${kind === 'json' ? ' mono' : ''}`} rows={Math.min(8, Math.max(kind === 'text' ? 1 : 3, text.split('\n').length))} spellCheck={kind === 'text'} onChange={(event) => onChange(event.target.value)} />
      )}
      {(description || problem) && (
        <span id={`${id}-about`} className={problem ? 'try-problem' : 'muted'}>
          {problem ?? description}
        </span>
      )}
    </div>
  );
}

/** The files that a workspace tool works on. */
function Files({ files, onChange }: { files: Workspace; onChange: (files: Workspace) => void }) {
  const { person } = useSite();
  const id = useId();
  const kind = files.git ? 'git' : files.emptyDir ? 'empty' : 'default';
  return (
    <div className="try-field">
      <label htmlFor={id}>Workspace</label>
      <select id={id} className="input" value={kind} onChange={(event) => onChange(event.target.value === 'git' ? { git: { url: '' } } : event.target.value === 'empty' ? { emptyDir: {} } : person.defaultWorkspace!)}>
        {person.defaultWorkspace && <option value="default">the default of new chats</option>}
        <option value="empty">an empty directory</option>
        <option value="git">a git repository</option>
      </select>
      {files.git && <input className="input" aria-label="URL of the repository" placeholder="https://git.example.com/team/app.git" value={files.git.url} onChange={(event) => onChange({ git: { url: event.target.value } })} />}
    </div>
  );
}

const over = new Set(['Success', 'Failed', 'Cancelled']);

/** The task of a try, while it runs and when it has ended. */
export function Running({ name }: { name: string }) {
  const { namespace } = useSite();
  const [ended, setEnded] = useState<Task>();
  const [loaded] = usePolled(
    async () => {
      if (ended) return ended;
      const read = await task(namespace, name);
      if (over.has(read.status?.phase ?? '')) setEnded(read);
      return read;
    },
    [namespace, name],
    1000,
  );
  const link = useLink(`/${encodeURIComponent(namespace)}/runs/${encodeURIComponent(name)}`);
  if (loaded.state === 'failed') return <Trouble>{loaded.error.message}</Trouble>;
  const status = loaded.state === 'done' ? loaded.value.status : undefined;
  const phase = status?.phase ?? 'Pending';
  const { durationSeconds: took, usage } = status ?? {};
  const facts = [took !== undefined && duration(took * 1000), usage?.totalTokens && `${tokens(usage.totalTokens)} tokens`, usage?.modelCalls && `cost ${money(usage.costMicros, usage.currency)}`].filter(Boolean);
  const waits = status?.conditions?.find(({ type, status: state }) => type === 'Succeeded' && state === 'Unknown');
  return (
    <section className="try-result" aria-label={`Result of ${name}`} aria-live="polite">
      <p>
        <Badge kind={phase.toLowerCase() as 'pending'} /> <a {...link}>{name}</a>
        {facts.length > 0 && <span className="muted"> {facts.join(' · ')}</span>}
      </p>
      {status?.waiting && (
        <p className="note waiting">
          {status.waiting.kind === 'Approval' ? 'The call waits for an approval.' : 'The tool asks a question.'} <a {...link}>{status.waiting.kind === 'Approval' ? 'Decide on the page of the run' : 'Answer on the page of the run'}</a>
        </p>
      )}
      {!status?.waiting && phase === 'Pending' && waits?.message && <p className="muted">{waits.message}</p>}
      {status?.progress && !ended && <p className="muted">{status.progress}</p>}
      {status?.error && (
        <Trouble>
          {status.error.kind}: {status.error.message}
        </Trouble>
      )}
      {(status?.result?.details || status?.result?.summary) && <Code text={status.result.details || status.result.summary!} label="Result" />}
      {status?.result?.data && <DataView data={status.result.data} />}
    </section>
  );
}
