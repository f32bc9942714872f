// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { getIn, setIn, type Spec } from '../model/form';
import { Icon } from './Icon';
import { SecretInput } from './SecretInput';

const states = ['Waiting', 'Finished', 'Failed'];

/** The receivers of notifications. */
export function ReceiverList({ id, value, onChange }: { id: string; value: Spec[]; onChange: (value: unknown) => void }) {
  const replace = (at: number, receiver: Spec) => onChange(value.map((other, i) => (i === at ? receiver : other)));
  return (
    <div className="rule-list">
      {value.map((receiver, i) => (
        <Receiver key={i} number={i + 1} receiver={receiver} onChange={(next) => replace(i, next)} onRemove={() => onChange(value.length > 1 ? value.filter((_, at) => at !== i) : undefined)} />
      ))}
      <button id={id} type="button" aria-label="Add a receiver" className="button small" onClick={() => onChange([...value, { on: ['Waiting'], slack: {} }])}>
        <Icon name="plus" size={14} /> Add a receiver
      </button>
    </div>
  );
}

function Receiver({ number, receiver, onChange, onRemove }: { number: number; receiver: Spec; onChange: (receiver: Spec) => void; onRemove: () => void }) {
  const on = Array.isArray(receiver.on) ? (receiver.on as string[]) : [];
  const kind = receiver.webhook === undefined ? 'slack' : 'webhook';
  const secret = (name: string, label: string) => (
    <div className="editor-field">
      <label htmlFor={`receiver-${number}-${name}`}>{label}</label>
      <SecretInput id={`receiver-${number}-${name}`} label={`${label} of receiver ${number}`} value={getIn(receiver, [kind, name]) as Spec | undefined} onChange={(ref) => onChange({ ...receiver, [kind]: setIn((receiver[kind] as Spec | undefined) ?? {}, [name], ref) })} />
    </div>
  );
  return (
    <fieldset className="rule">
      <legend>Receiver {number}</legend>
      <div className="editor-field" role="group" aria-label={`States of receiver ${number}`}>
        {states.map((state) => (
          <label key={state}>
            <input type="checkbox" checked={on.includes(state)} onChange={(event) => onChange({ ...receiver, on: states.filter((other) => (other === state ? event.target.checked : on.includes(other))) })} /> {state}
          </label>
        ))}
      </div>
      <div className="editor-field">
        <label htmlFor={`receiver-${number}-kind`}>Kind</label>
        <select id={`receiver-${number}-kind`} className="input" value={kind} onChange={(event) => onChange({ on, [event.target.value]: setIn({}, ['urlKeyRef'], getIn(receiver, [kind, 'urlKeyRef'])) })}>
          <option value="slack">Slack or Microsoft Teams</option>
          <option value="webhook">A signed webhook</option>
        </select>
      </div>
      {secret('urlKeyRef', 'URL')}
      {kind === 'webhook' && secret('secretKeyRef', 'Key of the signatures')}
      <button type="button" className="button small" onClick={onRemove}>
        Remove receiver {number}
      </button>
    </fieldset>
  );
}
