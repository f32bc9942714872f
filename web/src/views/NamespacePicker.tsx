// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useState } from 'react';
import { namespaces } from '../api/client';
import { useSite } from '../state/context';
import { useLoad } from '../state/hooks';
import { go, hrefOf } from '../state/route';

/** Selects a namespace: from a list if the person may list namespaces, otherwise by name. */
export function NamespacePicker() {
  const { namespace } = useSite();
  const [known] = useLoad(namespaces, []);
  const [typed, setTyped] = useState(namespace);
  const move = (to: string) => {
    const name = to.trim();
    if (name && name !== namespace) go(hrefOf({ namespace: name }));
  };
  if (known.state === 'done') {
    const names = known.value.includes(namespace) ? known.value : [namespace, ...known.value];
    return (
      <label className="namespace">
        <span>Namespace</span>
        <select value={namespace} onChange={(event) => move(event.target.value)}>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <form
      className="namespace"
      onSubmit={(event) => {
        event.preventDefault();
        move(typed);
      }}
    >
      <label>
        <span>Namespace</span>
        <input value={typed} spellCheck={false} autoCapitalize="none" onChange={(event) => setTyped(event.target.value)} onBlur={() => move(typed)} />
      </label>
    </form>
  );
}
