// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useMemo, useState } from 'react';
import { write } from '../api/client';
import type { ArgumentPattern, Chat } from '../api/types';
import { describe, restrictionsOf } from '../model/allowances';
import { clock, plural } from '../model/format';
import { useSite } from '../state/context';
import { Icon } from './Icon';

/** Approves a call together with later ones of the same tool in the chat. */
export function AllowForm({ tool, args, disabled, onAllow }: { tool: string; args: string; disabled: boolean; onAllow: (patterns: ArgumentPattern[]) => void }) {
  const proposed = useMemo(() => restrictionsOf(args), [args]);
  const [patterns, setPatterns] = useState<Record<string, string>>({});
  const id = useId();
  const chosen = proposed.filter(({ name }) => patterns[name] !== undefined).map(({ name }) => ({ name, pattern: patterns[name]! }));
  const change = (name: string, pattern: string | undefined) =>
    setPatterns((before) => {
      const { [name]: _, ...others } = before;
      return pattern === undefined ? others : { ...others, [name]: pattern };
    });
  return (
    <details className="allow">
      <summary>Allow this tool for this chat</summary>
      <div className="allow-body">
        <p>
          Later calls of <code>{tool}</code> in this chat then run without asking, until you revoke it. Every one of them is recorded.
        </p>
        {proposed.length > 0 && (
          <fieldset>
            <legend>Only calls with</legend>
            {proposed.map(({ name, pattern }) => (
              <div key={name} className="allow-row">
                <input id={`${id}-${name}`} type="checkbox" checked={patterns[name] !== undefined} onChange={(event) => change(name, event.target.checked ? pattern : undefined)} />
                <label htmlFor={`${id}-${name}`}>
                  <code>{name}</code>
                </label>
                <input className="input mono" aria-label={`Pattern of ${name}`} value={patterns[name] ?? pattern} maxLength={256} disabled={patterns[name] === undefined} onChange={(event) => change(name, event.target.value)} />
              </div>
            ))}
            <p className="muted">A star stands for any characters except those that join commands. A backslash makes the next character literal.</p>
          </fieldset>
        )}
        <button type="button" className="button" disabled={disabled || chosen.some(({ pattern }) => pattern === '')} onClick={() => onAllow(chosen)}>
          Approve and allow {chosen.length > 0 ? 'these calls' : 'every call'}
        </button>
      </div>
    </details>
  );
}

/** The tools that are allowed in a chat, with buttons to revoke that. */
export function Allowances({ chat }: { chat: Chat }) {
  const site = useSite();
  const [revoking, setRevoking] = useState<ReadonlySet<string>>(new Set());
  const allowances = chat.status?.allowances ?? [];
  if (allowances.length === 0) return null;
  const revoke = async (name: string) => {
    setRevoking(new Set([...revoking, name]));
    try {
      site.store.put('agentmessages', await write(site.namespace, chat.metadata.name, site.person.user, { revoke: { allowance: name } }));
    } catch (error) {
      site.toast((error as Error).message, 'error');
      setRevoking((before) => new Set([...before].filter((other) => other !== name)));
    }
  };
  return (
    <details className="allowances">
      <summary>
        <Icon name="key" size={14} /> {plural(allowances.length, 'allowance')} in this chat: some calls run without asking
      </summary>
      <ul aria-label="Allowances">
        {allowances.map(({ name, tool, arguments: patterns, user, startTime }) => (
          <li key={name}>
            <span>
              <strong>{user}</strong> allowed {describe(tool, patterns)}
              {startTime && <time dateTime={startTime}> at {clock(startTime)}</time>}
            </span>
            {site.person.may.createMessages && (
              <button type="button" className="button small" disabled={revoking.has(name)} aria-label={`Revoke ${describe(tool, patterns)}`} onClick={() => void revoke(name)}>
                {revoking.has(name) ? 'Revoking' : 'Revoke'}
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
