// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useId, useMemo, useState } from 'react';
import { compare } from '../model/diff';
import { faithful, pretty } from '../model/format';
import { isObject } from '../model/schema';
import { DiffLines } from './DiffView';

const readable = (text: string) => (faithful(text) ? pretty(text) : text);

/** The longest arguments that the API accepts, in bytes. */
const mostBytes = 32_768;

/** Returns what is wrong with arguments, for people. They are sent as they were typed, so numbers are not rounded. */
function problemOf(text: string): string | undefined {
  try {
    if (!isObject(JSON.parse(text))) return 'The arguments must be a JSON object.';
  } catch {
    return 'This is not JSON.';
  }
  if (new TextEncoder().encode(text.trim()).length > mostBytes) return `The arguments have more than ${mostBytes} bytes.`;
  return undefined;
}

/** Approves a call with arguments that the person writes, and shows how they differ from those of the model. */
export function EditArguments({ tool, args, disabled, onApprove }: { tool: string; args: string; disabled: boolean; onApprove: (text: string) => void }) {
  const before = useMemo(() => readable(args), [args]);
  const [text, setText] = useState(before);
  const id = useId();
  const problem = problemOf(text);
  const after = problem ? text : readable(text);
  const changed = after.trim() !== before.trim();
  return (
    <details className="allow">
      <summary>Edit the arguments</summary>
      <div className="allow-body edit-arguments">
        <p>
          <code>{tool}</code> gets these arguments instead of those of the model. Policies judge them again, and the agent gets a note which were used.
        </p>
        <label htmlFor={id} className="label">
          Arguments
        </label>
        <textarea id={id} className="input mono" rows={Math.min(24, Math.max(4, text.split('\n').length + 1))} spellCheck={false} value={text} aria-describedby={problem && `${id}-problem`} onChange={(event) => setText(event.target.value)} />
        {problem && (
          <p id={`${id}-problem`} className="note failed" role="alert">
            {problem}
          </p>
        )}
        {changed && !problem && <DiffLines lines={compare(`${before}\n`, `${after}\n`)} label="Difference to the model's arguments" />}
        <button type="button" className="button" disabled={disabled || !changed || problem !== undefined} onClick={() => onApprove(text.trim())}>
          Approve with these arguments
        </button>
      </div>
    </details>
  );
}
