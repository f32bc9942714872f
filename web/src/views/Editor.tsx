// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Fragment, type ReactNode, useId, useMemo, useRef, useState } from 'react';
import { catalog, listOf, providers, roles, toolServers, writeObject } from '../api/client';
import type { Chat, Resource } from '../api/types';
import { compare } from '../model/diff';
import { choose, type Form, getIn, gitOpsManager, type Manifest, manifestOf, otherFields, type Picked, sectionsOf, setIn, type Spec, variantOf } from '../model/form';
import { toYAML } from '../model/yaml';
import { Code } from '../parts/Code';
import { DiffLines } from '../parts/DiffView';
import { type Choices, FieldInput } from '../parts/FieldInput';
import { Segments } from '../parts/Segments';
import { useSite } from '../state/context';
import { useLoad } from '../state/hooks';
import { go, hrefOf, type Route, useLink } from '../state/route';
import { Trouble } from './Loaded';

/** An object that is edited: what is in the namespace, if there is one, and what holds for fields that are empty. */
export interface Edited {
  form: Form;
  name: string;
  /** The page that lists the objects. */
  page?: Route['page'];
  /** Called with what was applied, instead of going to that page. */
  onApplied?: (written: Resource & { spec: unknown }) => void;
  stored?: Resource & { spec: unknown };
  usual?: object;
  /** What is shown below fields, by their paths. */
  below?: Record<string, (spec: Spec) => ReactNode>;
  /** What is shown below the YAML, for the spec as it is typed. */
  more?: (spec: Spec, change: (spec: Spec) => void, name: string) => ReactNode;
}

/** A form that shows YAML to commit. Nothing is written before the person applies it, which is possible after a dry run only. */
export function Editor({ form, name, page, onApplied, stored: now, usual = {}, below = {}, more }: Edited) {
  // The version that the form began with: a later spec of another person is a conflict, and is not overwritten. A later status is not one.
  const [begunWith] = useState(now);
  const stored = now && begunWith && now.metadata.uid === begunWith.metadata.uid && now.metadata.generation === begunWith.metadata.generation ? now : begunWith;
  const { namespace, person } = useSite();
  const [newName, setNewName] = useState(name);
  const [spec, setSpec] = useState<Spec>(() => (stored?.spec as Spec | undefined) ?? form.begin ?? {});
  const [begun, setBegun] = useState(0);
  // What was typed for variants that are not chosen now.
  const left = useRef<Spec>({});
  const choices = useChoices(pickedBy(form));
  const manifest = useMemo(
    () => manifestOf(form.kind, { metadata: stored?.metadata ?? { name: newName.trim(), namespace, uid: '', creationTimestamp: '' }, spec: form.requester ? { ...spec, user: person.user } : spec }),
    [form, stored, newName, namespace, spec, person.user],
  );
  const sections = sectionsOf(form, spec, !stored);
  const kept = otherFields(sections, spec).filter((field) => field !== 'user');
  const back = useLink(hrefOf({ namespace, page }));
  // Inputs keep what was typed: another spec needs other inputs.
  const begin = (preset: NonNullable<Form['presets']>[number]) => {
    setSpec(preset.spec);
    setNewName(newName || (preset.name ?? ''));
    setBegun(begun + 1);
  };
  return (
    <div className="editor">
      <form className="editor-form" aria-label={capital(form.word)} onSubmit={(event) => event.preventDefault()}>
        {!stored && form.presets && (
          <div className="presets" role="group" aria-label="Begin with">
            <span className="muted" aria-hidden>
              Begin with
            </span>
            {form.presets.map((preset) => (
              <button key={preset.label} type="button" className="chip" title={preset.about} onClick={() => begin(preset)}>
                {preset.label}
              </button>
            ))}
          </div>
        )}
        {name === '' && (
          <label className="editor-field">
            <span>Name</span>
            <input className="input mono" value={newName} autoFocus onChange={(event) => setNewName(event.target.value)} />
          </label>
        )}
        {sections.map(({ title, about, oneOf, fields }) => (
          <fieldset key={`${title}/${begun}`} className="panel">
            <legend>{title}</legend>
            {about && <p className="muted">{about}</p>}
            {oneOf && (
              <Segments
                label={title}
                value={variantOf(oneOf, spec).member}
                options={oneOf.map(({ member, label }) => ({ value: member, label }))}
                onChange={(member) => {
                  left.current = { ...left.current, ...spec };
                  setSpec(choose(oneOf, spec, member, left.current));
                }}
              />
            )}
            {fields.map((field) => {
              const path = field.path.join('.');
              return (
                <Fragment key={path}>
                  <FieldInput field={field} value={getIn(spec, field.path)} usual={getIn(usual as Spec, field.path)} choices={choices} onChange={(value) => setSpec((before) => setIn(before, field.path, value))} />
                  {below[path]?.(spec)}
                </Fragment>
              );
            })}
          </fieldset>
        ))}
        {kept.length > 0 && (
          <p className="muted">
            Kept as they are: <span className="mono">{kept.join(', ')}</span>. Change them in the YAML.
          </p>
        )}
        {page && <a {...back}>Back to the list</a>}
      </form>
      <div className="editor-side">
        <Outcome form={form} onApplied={onApplied ?? (() => go(hrefOf({ namespace, page })))} manifest={manifest} stored={stored} />
        {more?.(spec, setSpec, manifest.metadata.name)}
      </div>
    </div>
  );
}

const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);

/** What the fields of a form pick from. */
const pickedBy = (form: Form) => [...new Set(form.sections.flatMap(({ fields }) => fields.flatMap(({ pick }) => pick ?? [])))];

/** Loads the values that fields pick from. What the person may not list is not proposed. */
export function useChoices(picked: readonly Picked[]): Choices {
  const { namespace } = useSite();
  const wanted = new Set(picked);
  const names = (list: Promise<Resource[]>) => list.then((items) => items.map(({ metadata }) => metadata.name)).catch(() => []);
  const [loaded] = useLoad(async (): Promise<Choices> => {
    const [known, ours, models, servers, chats] = await Promise.all([
      catalog().catch(() => undefined),
      wanted.has('roles') ? names(roles(namespace)) : [],
      wanted.has('providers') ? names(providers(namespace)) : [],
      wanted.has('tools') ? toolServers(namespace).catch(() => []) : [],
      wanted.has('chats') ? names(listOf<Chat>(namespace, 'agentchats')) : [],
    ]);
    const tools = servers.flatMap(({ metadata, status }) => [`${metadata.name}__*`, ...(status?.tools ?? []).map((tool) => `${metadata.name}__${tool.name}`)]);
    return {
      roles: [...new Set([...ours, ...(known?.roles ?? []).map((role) => role.name)])].sort(),
      providers: models,
      tools: [...tools, ...(known?.tools ?? []).map((tool) => tool.name), ...(known?.workspaceTools ?? []).map((tool) => tool.name)],
      chats,
    };
  }, [namespace, [...wanted].join()]);
  return loaded.state === 'done' ? loaded.value : {};
}

/** What a dry run of what was typed answered: the spec with its defaults, or why it is refused. */
type Checked = { typed: string } & ({ spec: Spec } | { problem: string });

/** The YAML to commit, the dry run with its diff, and the button that applies it. */
function Outcome({ form: { kind, resource, word }, onApplied, manifest, stored }: { form: Form; onApplied: NonNullable<Edited['onApplied']>; manifest: Manifest; stored?: Edited['stored'] }) {
  const site = useSite();
  const [checked, setChecked] = useState<Checked>();
  const [busy, setBusy] = useState(false);
  const hint = useId();
  const nameless = manifest.metadata.name === '';
  const yaml = yamlOf(manifest);
  const typed = JSON.stringify([manifest.metadata.name, manifest.spec]);
  const before = stored ? yamlOf(manifestOf(kind, stored)) : '';
  const may = site.person.may[`${stored ? 'update' : 'create'}/${resource}`];
  const manager = stored && gitOpsManager(stored);
  // Another name or spec needs another dry run; labels and annotations, which others may change meanwhile, stay as they are.
  const current = checked?.typed === typed ? checked : undefined;
  const after = current && 'spec' in current ? yamlOf({ ...manifest, spec: current.spec }) : undefined;
  const attempt = async (dryRun: boolean) => {
    setBusy(true);
    try {
      const written = await writeObject(site.namespace, resource, manifest, stored, dryRun);
      if (dryRun) setChecked({ typed, spec: written.spec as Spec });
      else {
        site.toast(`The ${word} ${manifest.metadata.name} is ${stored ? 'changed' : 'created'}.`);
        onApplied(written);
      }
    } catch (error) {
      setChecked({ typed, problem: (error as Error).message });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="panel editor-yaml" aria-label="YAML">
      <h2>YAML to commit</h2>
      <p className="muted">{may ? 'Nothing is written yet. Check it with a dry run to apply it here, or commit it to the repository that the namespace is applied from.' : 'Nothing is written: commit this to the repository that the namespace is applied from.'}</p>
      {manager && (
        <p className="note waiting">
          <span>
            <strong>{manager}</strong> applies this {word}. It may undo what is applied here.
          </span>
        </p>
      )}
      <Code text={yaml} label={`YAML of the ${word}`} language="yaml" />
      <div className="try-foot">
        <button type="button" className="button small" onClick={() => download(`${manifest.metadata.name || word.replace(' ', '-')}.yaml`, yaml)}>
          Download
        </button>
        {may && (
          <button type="button" className="button small" disabled={busy || nameless} aria-describedby={nameless ? hint : undefined} onClick={() => void attempt(true)}>
            Check with a dry run
          </button>
        )}
      </div>
      {may && nameless && (
        <p id={hint} className="muted">
          The {word} needs a name before it can be checked.
        </p>
      )}
      {!may && <p className="muted">You may not {stored ? 'change' : 'create'} {word}s in this namespace.</p>}
      <div aria-live="polite" className="editor-checked">
        {current && 'problem' in current && <Trouble>{current.problem}</Trouble>}
        {after !== undefined && (
          <>
            <p>
              The API server accepts it. {before === after ? 'It changes nothing.' : `This would ${stored ? 'change' : 'be created'} in ${site.namespace}:`}
            </p>
            {before !== after && (
              <>
                <DiffLines lines={compare(before, after)} label={`Changes of the ${word}`} />
                <button type="button" className="button primary small" disabled={busy} onClick={() => void attempt(false)}>
                  Apply to {site.namespace}
                </button>
              </>
            )}
          </>
        )}
      </div>
    </section>
  );
}

const yamlOf = (manifest: Manifest) => `${toYAML(manifest)}\n`;

function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
