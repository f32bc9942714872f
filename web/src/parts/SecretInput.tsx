// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { createSecret } from '../api/client';
import type { Spec } from '../model/form';
import { useSite } from '../state/context';

const text = (value: unknown) => (typeof value === 'string' ? value : '');

/** A reference to a key of a Secret. A value that is pasted goes into a new Secret, never into the YAML. */
export function SecretInput({ label, value, onChange, id, ...described }: { id: string; label: string; 'aria-describedby'?: string; value?: Spec; onChange: (value: unknown) => void }) {
  const { namespace, toast } = useSite();
  const [pasted, setPasted] = useState('');
  const [stored, setStored] = useState('');
  const [name, key] = [text(value?.name), text(value?.key)];
  const change = (next: { name?: string; key?: string }) => {
    const ref = { name, key, ...next };
    onChange(ref.name || ref.key ? ref : undefined);
  };
  const store = async () => {
    try {
      await createSecret(namespace, { name, key, value: pasted });
      setPasted('');
      setStored(`The Secret ${name} is created.`);
    } catch (error) {
      toast((error as Error).message, 'error');
    }
  };
  return (
    <div className="secret-input" role="group" aria-label={label}>
      <input id={id} {...described} className="input mono" placeholder="Name of the Secret" value={name} onChange={(event) => change({ name: event.target.value })} />
      <input className="input mono" aria-label={`${label}: key in the Secret`} placeholder="Key" value={key} onChange={(event) => change({ key: event.target.value })} />
      <input className="input" type="password" autoComplete="off" aria-label={`${label}: value for a new Secret`} placeholder="Or paste the value for a new Secret" value={pasted} onChange={(event) => setPasted(event.target.value)} />
      <button type="button" className="button small" aria-label={`Create the Secret: ${label}`} disabled={!pasted || !name || !key} onClick={() => void store()}>
        Create the Secret
      </button>
      {pasted && (!name || !key) && <span className="muted">Type the name of the Secret and the key for the value first.</span>}
      {stored && <span role="status">{stored}</span>}
    </div>
  );
}
