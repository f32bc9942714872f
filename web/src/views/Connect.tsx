// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useState } from 'react';
import { snippets, tokenCommands, unknownGateway } from '../model/connect';
import { Code } from '../parts/Code';
import { Dialog } from '../parts/Dialog';
import { Icon } from '../parts/Icon';
import { useSite } from '../state/context';

/** The button that shows how a program uses a role over the gateway. */
export function Connect({ role, label }: { role: string; label: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button small" aria-label={`Connect a program to ${label}`} onClick={() => setOpen(true)}>
        <Icon name="link" size={14} /> Connect
      </button>
      {open && <Snippets role={role} label={label} onClose={() => setOpen(false)} />}
    </>
  );
}

function Snippets({ role, label, onClose }: { role: string; label: string; onClose: () => void }) {
  const { person, namespace } = useSite();
  const all = snippets(person.gatewayURL ?? unknownGateway, namespace, role);
  const [client, setClient] = useState(all[0]!.client);
  const { text, language, about } = all.find((one) => one.client === client)!;
  const field = useId();
  return (
    <Dialog title={`Connect a program to ${label}`} onClose={onClose} wide>
      <div className="connect">
        <label htmlFor={field}>Program</label>
        <select id={field} className="input" value={client} onChange={(event) => setClient(event.target.value)}>
          {all.map((one) => (
            <option key={one.client}>{one.client}</option>
          ))}
        </select>
        <Code text={text} label={`For ${client}`} language={language} />
        {about && <p className="muted">{about}</p>}
        {!person.gatewayURL && (
          <p className="note waiting">
            <span>
              This page does not know the address of the gateway: use it instead of {unknownGateway}. Its administrator can set <code>--gateway-url</code>.
            </span>
          </p>
        )}
        <h3>A token for the program</h3>
        <p className="muted">Everything that it starts is recorded under the name of its service account.</p>
        <Code text={tokenCommands(namespace)} label="Commands for a token" language="sh" />
      </div>
    </Dialog>
  );
}
