// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useState, type ReactNode } from 'react';
import { catalog, providers, roles } from '../api/client';
import { describeWorkspace, longestTitle, manifest, problemsOf, type Draft, type WorkspaceKind } from '../model/newchat';
import { toYAML } from '../model/yaml';
import { CopyButton } from '../parts/CopyButton';
import { Dialog } from '../parts/Dialog';
import { useSite } from '../state/context';
import { useLoad } from '../state/hooks';

/** Settings of a new chat: who answers, with which model, on which files, and how much it may use. Closing it changes nothing. */
export function NewChatDialog({ start, onDone, onClose }: { start: Draft; onDone: (draft: Draft) => void; onClose: () => void }) {
  const [draft, setDraft] = useState(start);
  const { namespace, person } = useSite();
  const known = useKnown(namespace);
  const { currency } = known.providerOf(draft)?.spec ?? {};
  const problems = problemsOf(draft);
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const text = toYAML(manifest(namespace, draft.name || 'NAME', draft, person.defaultWorkspace));
  return (
    <Dialog title="New chat" onClose={onClose} wide>
      <form
        className="new-chat"
        onSubmit={(event) => {
          event.preventDefault();
          if (Object.keys(problems).length === 0) onDone({ ...draft, currency });
        }}
      >
        <Part title="Name">
          <Field label="Title" hint="Shown in lists. It can change later.">
            {(id) => <input id={id} className="input" value={draft.title} maxLength={longestTitle} placeholder="none" onChange={(event) => set({ title: event.target.value })} />}
          </Field>
          <Field label="Name" problem={problems.name}>
            {(id) => <input id={id} className="input mono" value={draft.name} maxLength={63} placeholder="derived from the message" spellCheck={false} autoCapitalize="none" onChange={(event) => set({ name: event.target.value })} />}
          </Field>
        </Part>
        <Answering draft={draft} set={set} known={known} />
        <Files draft={draft} set={set} problems={problems} />
        <Part title="Limits of the whole tree">
          <Field label="Tokens">{(id) => <input id={id} className="input" value={draft.tokens} inputMode="numeric" placeholder="no limit" onChange={(event) => set({ tokens: event.target.value.replace(/\D/g, '') })} />}</Field>
          <Field label="Cost" hint={`In ${currency ?? "the currency of the provider's prices"}`} problem={problems.cost}>
            {(id) => <input id={id} className="input" value={draft.cost} inputMode="decimal" placeholder="no limit" onChange={(event) => set({ cost: event.target.value.replace(/[^\d.]/g, '') })} />}
          </Field>
          <Field label="Depth of agents" problem={problems.depth}>
            {(id) => <input id={id} className="input" value={draft.depth} inputMode="numeric" placeholder="2" onChange={(event) => set({ depth: event.target.value.replace(/\D/g, '') })} />}
          </Field>
          <Field label="Agents at the same time" problem={problems.parallel}>
            {(id) => <input id={id} className="input" value={draft.parallel} inputMode="numeric" placeholder="8" onChange={(event) => set({ parallel: event.target.value.replace(/\D/g, '') })} />}
          </Field>
        </Part>
        <details className="new-chat-yaml">
          <summary>YAML</summary>
          <div className="yaml">
            <CopyButton text={text} what="the YAML" />
            <pre className="code" tabIndex={0} aria-label="YAML of the chat">
              <code>{text}</code>
            </pre>
          </div>
        </details>
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={Object.keys(problems).length > 0}>
            Done
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="new-chat-part">
      <legend>{title}</legend>
      <div className="fields">{children}</div>
    </fieldset>
  );
}

function Field({ label, hint, problem, children }: { label: string; hint?: string; problem?: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>
        <span>{label}</span>
      </label>
      {children(id)}
      {problem ? <p className="hint failed" role="alert">{problem}</p> : hint && <p className="hint">{hint}</p>}
    </div>
  );
}

interface PartProps {
  draft: Draft;
  set: (part: Partial<Draft>) => void;
}

/** The roles and providers that the person may read. */
function useKnown(namespace: string) {
  const [known] = useLoad(async () => {
    const quiet = <T,>(list: Promise<T[]>) => list.catch(() => [] as T[]);
    const [builtin, own, models] = await Promise.all([catalog(), quiet(roles(namespace)), quiet(providers(namespace))]);
    return { builtin: builtin.roles, own, models };
  }, [namespace]);
  const { builtin, own, models } = known.state === 'done' ? known.value : { builtin: [], own: [], models: [] };
  return {
    names: [...new Set([...own.map((role) => role.metadata.name), ...builtin.map((role) => role.name)])].sort(),
    models,
    providerOf: (draft: Draft) => {
      const ofRole = own.find(({ metadata }) => metadata.name === (draft.role || 'orchestrator'))?.spec?.modelProvider;
      return models.find(({ metadata }) => metadata.name === (draft.provider || ofRole || 'default'));
    },
  };
}

/** The role, the provider and the model. Lists that the person may not read become inputs. */
function Answering({ draft, set, known: { names, models, providerOf } }: PartProps & { known: ReturnType<typeof useKnown> }) {
  const { roles: find } = useSite();
  const provider = providerOf(draft);
  const list = useId();
  const withCurrent = (all: string[], current: string) => (current && !all.includes(current) ? [current, ...all] : all);
  const offered = [...new Set([provider?.spec.defaultModel, ...(provider?.spec.models ?? []).map((model) => model.name)].filter((name) => name !== undefined))];
  return (
    <Part title="Who answers">
      <Field label="Role" hint={find(draft.role || 'orchestrator').description}>
        {(id) => (
          <select id={id} value={draft.role} onChange={(event) => set({ role: event.target.value })}>
            <option value="">orchestrator (default)</option>
            {withCurrent(names, draft.role).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Model provider">
        {(id) => (
          <select id={id} value={draft.provider} onChange={(event) => set({ provider: event.target.value, model: '' })}>
            <option value="">that of the role, or default</option>
            {withCurrent(models.map(({ metadata }) => metadata.name), draft.provider).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Model">
        {(id) => (
          <>
            <input id={id} className="input mono" value={draft.model} list={list} placeholder={provider?.spec.defaultModel ?? 'that of the provider'} spellCheck={false} autoCapitalize="none" onChange={(event) => set({ model: event.target.value })} />
            <datalist id={list}>
              {offered.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
    </Part>
  );
}

function Files({ draft, set, problems }: PartProps & { problems: Partial<Record<keyof Draft, string>> }) {
  const { person } = useSite();
  const kinds: [WorkspaceKind, string][] = [
    ...(draft.base?.workspace ? [['copied', `As before: ${describeWorkspace(draft.base.workspace)}`] as [WorkspaceKind, string]] : []),
    ...(person.defaultWorkspace ? [['default', describeWorkspace(person.defaultWorkspace)] as [WorkspaceKind, string]] : []),
    ['git', 'A git repository'],
    ['claim', 'A volume'],
    ['empty', 'An empty directory'],
    ['none', 'No files'],
  ];
  return (
    <Part title="Files that the agents work on">
      <Field label="Workspace">
        {(id) => (
          <select id={id} value={draft.workspace} onChange={(event) => set({ workspace: event.target.value as WorkspaceKind })}>
            {kinds.map(([kind, words]) => (
              <option key={kind} value={kind}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      {draft.workspace === 'git' && (
        <>
          <Field label="URL" problem={draft.url ? problems.url : undefined} hint="https, http or ssh">
            {(id) => <input id={id} className="input mono" type="url" required value={draft.url} placeholder="https://git.example.com/team/app.git" spellCheck={false} onChange={(event) => set({ url: event.target.value.trim() })} />}
          </Field>
          <Field label="Branch, tag or commit" problem={problems.ref}>
            {(id) => <input id={id} className="input mono" value={draft.ref} placeholder="the default branch" spellCheck={false} autoCapitalize="none" onChange={(event) => set({ ref: event.target.value })} />}
          </Field>
          <Field label="Secret with credentials" problem={problems.secret} hint="Its annotation nestor.dev/git-hosts must list the server.">
            {(id) => <input id={id} className="input mono" value={draft.secret} placeholder="none" spellCheck={false} autoCapitalize="none" onChange={(event) => set({ secret: event.target.value })} />}
          </Field>
        </>
      )}
      {draft.workspace === 'claim' && (
        <>
          <Field label="PersistentVolumeClaim" problem={draft.claim ? problems.claim : undefined} hint="It needs the label nestor.dev/workspace: “true”.">
            {(id) => <input id={id} className="input mono" required value={draft.claim} spellCheck={false} autoCapitalize="none" onChange={(event) => set({ claim: event.target.value })} />}
          </Field>
          <label className="check">
            <input type="checkbox" checked={draft.readOnly} onChange={(event) => set({ readOnly: event.target.checked })} /> Read-only
          </label>
        </>
      )}
    </Part>
  );
}
