// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo } from 'react';
import { changeIn, writtenSoFar } from '../model/diff';
import { faithful, pretty, visible } from '../model/format';
import { Code } from './Code';
import { ChangeView } from './DiffView';
import { type FileOwner, ReportedChange, whyWhole, WriteView } from './WriteView';

/**
 * Shows the exact arguments of a tool call. Long texts are shown with their line breaks, because a file on one line with
 * escapes is unreadable, and changes of files as diffs; nothing is left out or shortened. A call of write that has not run is compared
 * with the file in the workspace that it would replace; one that ran has what it replaced.
 */
export function Arguments({ text, tool, replaces, ran }: { text: string; tool?: string; replaces?: FileOwner; ran?: { output?: string; diff?: string } }) {
  const change = useMemo(() => changeIn(tool, text), [tool, text]);
  const part = ran && !change ? writtenSoFar(tool, text) : undefined;
  if (part && !fieldsOf(text)) return <CutOff part={part} />;
  if (!change) return <Fields text={text} />;
  return (
    <div className="arguments-of-change">
      <Fields text={JSON.stringify({ path: change.path, ...change.rest })} />
      {ran?.diff ? <ReportedChange change={change} diff={ran.diff} /> : change.whole && replaces ? <WriteView change={change} owner={replaces} /> : <ChangeView change={change} why={ran && whyWhole(ran)} />}
    </div>
  );
}

/** The arguments of a call of write whose reply was cut off. */
function CutOff({ part: { path, content } }: { part: { path: string; content: string } }) {
  return (
    <div className="change">
      <p className="muted">
        The arguments are incomplete: this had arrived of <code>{visible(path)}</code>.
      </p>
      <Code text={visible(content)} label={`Content of ${visible(path)}`} />
    </div>
  );
}

function Fields({ text }: { text: string }) {
  const fields = fieldsOf(text);
  if (!fields) return <Code text={visible(faithful(text) ? pretty(text) : text)} label="Arguments" />;
  return (
    <dl className="arguments">
      {fields.map(([name, value]) => (
        <div key={name}>
          <dt>{visible(name)}</dt>
          <dd>{typeof value === 'string' && !value.includes('\n') && value.length <= 80 ? <code>{value === '' ? '""' : visible(value)}</code> : <Code text={visible(typeof value === 'string' ? value : JSON.stringify(value, null, 2))} label={name} />}</dd>
        </div>
      ))}
    </dl>
  );
}

function fieldsOf(text: string): [string, unknown][] | undefined {
  if (!faithful(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const fields = Object.entries(value);
    return fields.length > 0 ? fields : undefined;
  } catch {
    return undefined; // not JSON: shown unchanged
  }
}
