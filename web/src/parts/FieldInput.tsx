// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useState } from 'react';
import type { Field, Picked, Spec } from '../model/form';
import { Icon } from './Icon';
import { PriceList } from './PriceList';
import { ReceiverList } from './ReceiverList';
import { RuleList } from './RuleList';
import { SecretInput } from './SecretInput';

/** The values that fields pick from. */
export type Choices = Partial<Record<Picked, string[]>>;

/** A field of a form. usual is what holds if it is empty. */
export function FieldInput({ field, value, usual, choices, onChange }: { field: Field; value: unknown; usual: unknown; choices: Choices; onChange: (value: unknown) => void }) {
  const { path, label, kind, about, options, rows = 6 } = field;
  const id = useId();
  const known = (field.pick && choices[field.pick]) ?? [];
  const placeholder = usual === undefined ? field.placeholder : Array.isArray(usual) ? usual.join('\n') : kind === 'money' ? String(Number(usual) / 1e6) : String(usual);
  const common = { id, 'aria-describedby': about ? `${id}-about` : undefined, placeholder };
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const number = (raw: string) => (raw === '' ? undefined : Number(raw));
  return (
    <div className={`editor-field${kind === 'flag' ? ' flag' : ''}`}>
      <label htmlFor={id}>
        {label} <code className="muted">{path.filter((part) => !/^\d+$/.test(part)).join('.')}</code>
      </label>
      {kind === 'text' && known.length === 0 && <input {...common} className="input" value={text} onChange={(event) => onChange(event.target.value || undefined)} />}
      {kind === 'text' && known.length > 0 && <Picker {...common} value={text} known={known} onChange={(name) => onChange(name || undefined)} />}
      {kind === 'number' && <input {...common} className="input" type="number" min={0} value={text} onChange={(event) => onChange(number(event.target.value))} />}
      {kind === 'money' && <Money {...common} value={value} onChange={onChange} />}
      {kind === 'long' && <textarea {...common} className="input mono" rows={Math.min(24, Math.max(rows, text.split('\n').length + 1))} value={text} onChange={(event) => onChange(event.target.value || undefined)} />}
      {kind === 'lines' && known.length === 0 && <Lines {...common} value={value} onChange={onChange} />}
      {kind === 'lines' && known.length > 0 && <PickList {...common} label={label} value={value} known={known} onChange={onChange} />}
      {kind === 'choice' && (
        <select {...common} className="input" value={text} onChange={(event) => onChange(event.target.value || undefined)}>
          <option value="">{emptyChoice(field, usual)}</option>
          {options!.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      )}
      {kind === 'flag' && <input {...common} type="checkbox" checked={value === true} onChange={(event) => onChange(event.target.checked || undefined)} />}
      {kind === 'secret' && <SecretInput {...common} label={label} value={value as Spec | undefined} onChange={onChange} />}
      {kind === 'models' && <PriceList {...common} value={Array.isArray(value) ? (value as Spec[]) : []} onChange={onChange} />}
      {kind === 'rules' && <RuleList id={id} value={Array.isArray(value) ? (value as Spec[]) : []} onChange={onChange} />}
      {kind === 'receivers' && <ReceiverList id={id} value={Array.isArray(value) ? (value as Spec[]) : []} onChange={onChange} />}
      {about && (
        <span id={`${id}-about`} className="muted">
          {about}
        </span>
      )}
    </div>
  );
}

/** What a choice shows while it is empty: what holds then, or that one must be chosen. */
function emptyChoice({ placeholder, required }: Field, usual: unknown): string {
  if (usual !== undefined) return `${String(usual)} (built in)`;
  if (required) return 'Choose…';
  return placeholder ? `${placeholder} (default)` : 'default';
}

/** An amount, which the spec has in millionths. What is typed stays as it was typed. */
export function Money({ value, onChange, ...common }: { id?: string; 'aria-label'?: string; placeholder?: string; value: unknown; onChange: (value: unknown) => void }) {
  const [typed, setTyped] = useState('');
  const micros = (raw: string) => (raw === '' ? undefined : Math.round(Number(raw) * 1e6));
  const shown = micros(typed) === value ? typed : typeof value === 'number' ? String(value / 1e6) : '';
  return (
    <input
      {...common}
      className="input"
      type="number"
      min={0}
      step="any"
      value={shown}
      onChange={(event) => {
        setTyped(event.target.value);
        onChange(micros(event.target.value));
      }}
    />
  );
}

/** The option of a picker for what it does not offer. */
const other = 'Another…';

/** A name that is picked from those that are known, or typed. */
function Picker({ value, known, placeholder, onChange, ...common }: { id: string; placeholder?: string; value: string; known: string[]; onChange: (value: string) => void }) {
  const [typing, setTyping] = useState(false);
  if (typing) return <input {...common} className="input" autoFocus placeholder={placeholder} value={value} onChange={(event) => onChange(event.target.value)} onBlur={() => setTyping(false)} />;
  return (
    <select {...common} className="input" value={value} onChange={(event) => (event.target.value === other ? setTyping(true) : onChange(event.target.value))}>
      <option value="">{placeholder ?? 'none'}</option>
      {[...(value && !known.includes(value) ? [value] : []), ...known].map((name) => (
        <option key={name}>{name}</option>
      ))}
      <option>{other}</option>
    </select>
  );
}

/** Names that are picked from those that are known, or typed. */
function PickList({ id, label, value, known, placeholder, onChange, ...described }: { id: string; label: string; placeholder?: string; value: unknown; known: string[]; onChange: (value: unknown) => void }) {
  const [typing, setTyping] = useState(false);
  const [typed, setTyped] = useState('');
  const items = Array.isArray(value) ? (value as string[]) : [];
  const change = (next: string[]) => onChange(next.length > 0 ? next : undefined);
  const add = (name: string) => change([...items.filter((item) => item !== name), name]);
  const take = () => {
    if (typed.trim()) add(typed.trim());
    setTyping(false);
    setTyped('');
  };
  const left = known.filter((name) => !items.includes(name));
  return (
    <div className="pick-list">
      {items.length === 0 && placeholder && <p className="muted">{placeholder.split('\n').join(', ')}</p>}
      {items.length > 0 && (
        <ul aria-label={`Chosen: ${label}`}>
          {items.map((name) => (
            <li key={name} className="chip">
              <code>{name}</code>
              <button type="button" className="button ghost icon-only small" aria-label={`Remove ${name}`} onClick={() => change(items.filter((item) => item !== name))}>
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {typing ? (
        <div className="pick-other">
          <input id={id} {...described} className="input mono" autoFocus value={typed} onChange={(event) => setTyped(event.target.value)} onKeyDown={(event) => event.key === 'Enter' && take()} />
          <button type="button" className="button small" onClick={take}>
            Add
          </button>
        </div>
      ) : (
        <select id={id} {...described} className="input" value="" onChange={(event) => (event.target.value === other ? setTyping(true) : add(event.target.value))}>
          <option value="">Add…</option>
          {left.map((name) => (
            <option key={name}>{name}</option>
          ))}
          <option>{other}</option>
        </select>
      )}
    </div>
  );
}

/** A list of texts, one on each line. */
function Lines({ value, onChange, ...common }: { id: string; placeholder?: string; value: unknown; onChange: (value: unknown) => void }) {
  const [lines, setLines] = useState(() => (Array.isArray(value) ? value.join('\n') : ''));
  const items = (text: string) => text.split('\n').map((line) => line.trim()).filter(Boolean);
  const change = (text: string) => {
    setLines(text);
    onChange(items(text).length > 0 ? items(text) : undefined);
  };
  return <textarea {...common} className="input mono" rows={Math.min(8, Math.max(2, lines.split('\n').length))} spellCheck={false} value={lines} onChange={(event) => change(event.target.value)} />;
}
