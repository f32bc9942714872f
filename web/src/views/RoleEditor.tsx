// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useMemo, useState } from 'react';
import { writeRole } from '../api/client';
import type { Role, RoleSpec } from '../api/types';
import { compare } from '../model/diff';
import { getIn, gitOpsManager, manifestOf, otherFields, roleFields, setIn, type RoleField, type RoleManifest, type Spec } from '../model/role';
import { toYAML } from '../model/yaml';
import { Code } from '../parts/Code';
import { DiffLines } from '../parts/DiffView';
import { useSite } from '../state/context';
import { go, hrefOf, useLink } from '../state/route';
import { Trouble } from './Loaded';

/**
 * A form for a role that shows YAML to commit. Nothing is written before the person applies it, which is possible after a dry run only.
 * stored is the role in the namespace, if there is one; builtIn is the built-in role that it changes.
 */
export function RoleEditor({ name, stored, builtIn }: { name: string; stored?: Role; builtIn?: RoleSpec }) {
  const { namespace } = useSite();
  const [newName, setNewName] = useState(name);
  const [spec, setSpec] = useState<Spec>(() => (stored?.spec as Spec | undefined) ?? {});
  const manifest = useMemo(() => manifestOf({ metadata: stored?.metadata ?? { name: newName.trim(), namespace, uid: '', creationTimestamp: '' }, spec }), [stored, newName, namespace, spec]);
  const kept = otherFields(spec);
  const back = useLink(hrefOf({ namespace, page: 'roles' }));
  return (
    <div className="editor">
      <form className="editor-form" aria-label="Role" onSubmit={(event) => event.preventDefault()}>
        {name === '' && (
          <label className="editor-field">
            <span>Name</span>
            <input className="input mono" value={newName} autoFocus onChange={(event) => setNewName(event.target.value)} />
          </label>
        )}
        {roleFields.map(({ title, fields }) => (
          <fieldset key={title} className="panel">
            <legend>{title}</legend>
            {fields.map((field) => (
              <RoleInput key={field.path.join('.')} field={field} value={getIn(spec, field.path)} usual={getIn((builtIn ?? {}) as Spec, field.path)} onChange={(value) => setSpec(setIn(spec, field.path, value))} />
            ))}
          </fieldset>
        ))}
        {kept.length > 0 && (
          <p className="muted">
            Kept as they are: <span className="mono">{kept.join(', ')}</span>. Change them in the YAML.
          </p>
        )}
        <a {...back}>Back to the roles</a>
      </form>
      <Outcome manifest={manifest} stored={stored} />
    </div>
  );
}

function RoleInput({ field: { path, label, kind, about, options }, value, usual, onChange }: { field: RoleField; value: unknown; usual: unknown; onChange: (value: unknown) => void }) {
  const id = useId();
  const [lines, setLines] = useState(() => (Array.isArray(value) ? value.join('\n') : ''));
  const name = path.join('.');
  const placeholder = usual === undefined ? undefined : Array.isArray(usual) ? usual.join('\n') : String(usual);
  const common = { id, 'aria-describedby': about ? `${id}-about` : undefined, placeholder };
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  return (
    <div className={`editor-field${kind === 'flag' ? ' flag' : ''}`}>
      <label htmlFor={id}>
        {label} <code className="muted">{name}</code>
      </label>
      {kind === 'text' && <input {...common} className="input" value={text} onChange={(event) => onChange(event.target.value || undefined)} />}
      {kind === 'number' && <input {...common} className="input" type="number" min={0} value={text} onChange={(event) => onChange(event.target.value === '' ? undefined : Number(event.target.value))} />}
      {kind === 'long' && <textarea {...common} className="input mono" rows={Math.min(24, Math.max(6, text.split('\n').length + 1))} value={text} onChange={(event) => onChange(event.target.value || undefined)} />}
      {kind === 'lines' && (
        <textarea
          {...common}
          className="input mono"
          rows={Math.min(8, Math.max(2, lines.split('\n').length))}
          spellCheck={false}
          value={lines}
          onChange={(event) => {
            setLines(event.target.value);
            const items = event.target.value.split('\n').map((line) => line.trim()).filter(Boolean);
            onChange(items.length > 0 ? items : undefined);
          }}
        />
      )}
      {kind === 'choice' && (
        <select {...common} className="input" value={text} onChange={(event) => onChange(event.target.value || undefined)}>
          <option value="">{placeholder ? `${placeholder} (built in)` : 'default'}</option>
          {options!.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      )}
      {kind === 'flag' && <input {...common} type="checkbox" checked={value === true} onChange={(event) => onChange(event.target.checked || undefined)} />}
      {about && (
        <span id={`${id}-about`} className="muted">
          {about}
        </span>
      )}
    </div>
  );
}

/** What a dry run of a manifest answered. */
type Checked = { yaml: string } & ({ result: RoleManifest } | { problem: string });

/** The YAML to commit, the dry run with its diff, and the button that applies it. */
function Outcome({ manifest, stored }: { manifest: RoleManifest; stored?: Role }) {
  const site = useSite();
  const [checked, setChecked] = useState<Checked>();
  const [busy, setBusy] = useState(false);
  const yaml = yamlOf(manifest);
  const before = stored ? yamlOf(manifestOf(stored)) : '';
  const may = stored ? site.person.may.updateRoles : site.person.may.createRoles;
  const manager = stored && gitOpsManager(stored);
  // Another manifest needs another dry run.
  const current = checked?.yaml === yaml ? checked : undefined;
  const attempt = async (dryRun: boolean) => {
    setBusy(true);
    try {
      const written = await writeRole(site.namespace, manifest, stored?.metadata.resourceVersion, dryRun);
      if (dryRun) setChecked({ yaml, result: manifestOf(written) });
      else {
        site.toast(`The role ${manifest.metadata.name} is ${stored ? 'changed' : 'created'}.`);
        go(hrefOf({ namespace: site.namespace, page: 'roles' }));
      }
    } catch (error) {
      setChecked({ yaml, problem: (error as Error).message });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="panel editor-yaml" aria-label="YAML">
      <h2>YAML to commit</h2>
      <p className="muted">Nothing is written: commit this to the repository that the namespace is applied from.</p>
      {manager && (
        <p className="note waiting">
          <span>
            <strong>{manager}</strong> applies this role. It may undo what is applied here.
          </span>
        </p>
      )}
      <Code text={yaml} label="YAML of the role" language="yaml" />
      <div className="try-foot">
        <button type="button" className="button small" onClick={() => download(`${manifest.metadata.name || 'role'}.yaml`, yaml)}>
          Download
        </button>
        {may && (
          <button type="button" className="button small" disabled={busy || manifest.metadata.name === ''} onClick={() => void attempt(true)}>
            Check with a dry run
          </button>
        )}
      </div>
      {!may && <p className="muted">You may not {stored ? 'change' : 'create'} roles in this namespace.</p>}
      <div aria-live="polite" className="editor-checked">
        {current && 'problem' in current && <Trouble>{current.problem}</Trouble>}
        {current && 'result' in current && (
          <>
            <p>
              The API server accepts it. {before === yamlOf(current.result) ? 'It changes nothing.' : `This would ${stored ? 'change' : 'be created'} in ${site.namespace}:`}
            </p>
            {before !== yamlOf(current.result) && (
              <>
                <DiffLines lines={compare(before, yamlOf(current.result))} label="Changes of the role" />
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

const yamlOf = (manifest: RoleManifest) => `${toYAML(manifest)}\n`;

function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/yaml' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
