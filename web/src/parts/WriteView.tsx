// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo } from 'react';
import { workspaceFile } from '../api/client';
import type { WorkspaceFile } from '../api/history';
import { compare, countsOf, type FileChange, hunksOf, type Line, reportedHunks } from '../model/diff';
import { explainServer } from '../model/errors';
import { clockSeconds, plural, visible } from '../model/format';
import { useSite } from '../state/context';
import { type Loaded, useLoad } from '../state/hooks';
import { Code } from './Code';
import { ChangeView, DiffLines } from './DiffView';

/** The workspace in which a call runs, and the agent that it is a call of, as the history names them. */
export interface FileOwner {
  workspace: string;
  agent: string;
  /** The call has not been decided: reading the file again makes sense. */
  waits: boolean;
}

/** What a call of write would change in the file as it is now. If that cannot be read, the whole new content, and why. */
export function WriteView({ change, owner }: { change: FileChange; owner: FileOwner }) {
  const { namespace } = useSite();
  const { cwd } = change.rest;
  const [file, again] = useLoad(
    () => workspaceFile(namespace, owner.workspace, { path: change.path, agent: owner.agent, ...(typeof cwd === 'string' ? { cwd } : {}) }),
    [namespace, owner.workspace, owner.agent, change.path, cwd],
  );
  const content = change.content ?? '';
  const before = file.state === 'done' && file.value.state === 'Text' ? (file.value.content ?? '') : undefined;
  const lines = useMemo(() => (before === undefined ? undefined : compare(before, content)), [before, content]);
  const reread = owner.waits && (
    <button type="button" className="button small" onClick={again}>
      Read again
    </button>
  );
  if (file.state !== 'done' || lines === undefined) {
    return (
      <ChangeView
        change={change}
        why={
          file.state === 'loading' ? (
            'Reading the file that it replaces…'
          ) : (
            <>
              {reasonOf(file)} {reread}
            </>
          )
        }
      />
    );
  }
  return (
    <div className="change">
      <Difference lines={lines} path={change.path} same={before === content} />
      <p className="muted">
        {whenOf(file.value)} {owner.waits && before !== content && 'It can change until the call runs.'} {reread}
      </p>
      <WholeContent path={change.path} content={content} />
    </div>
  );
}

const WholeContent = ({ path, content }: { path: string; content: string }) => (
  <details className="whole-content">
    <summary>The whole new content</summary>
    {content === '' ? <p className="muted">The file becomes empty.</p> : <Code text={visible(content)} label={`New content of ${visible(path)}`} />}
  </details>
);

/** What a call of write or patch changed, as the workspace reported it when it ran. */
export function ReportedChange({ change, diff }: { change: FileChange; diff: string }) {
  const hunks = useMemo(() => reportedHunks(diff), [diff]);
  return (
    <div className="change">
      <div className="change-block">
        <p className="label">What the call changed</p>
        {hunks.map((hunk, i) => (
          <DiffLines key={i} lines={hunk.lines} label={`Changes of ${visible(change.path)}`} numbered />
        ))}
      </div>
      {change.content !== undefined && <WholeContent path={change.path} content={change.content} />}
    </div>
  );
}

/** Why the whole content of a call of write is shown that may have run. */
export function whyWhole({ output }: { output?: string }): string | undefined {
  if (output === undefined) return undefined;
  return /^Created /.test(output) ? 'New file: this is its whole content.' : 'This is the whole new content. There is no record of a difference to what the file contained before.';
}

function Difference({ lines, path, same }: { lines: Line[]; path: string; same: boolean }) {
  if (same) return <p className="note">The file already has exactly this content: the call changes nothing.</p>;
  const { added, removed } = countsOf(lines);
  return (
    <div className="change-block">
      <p className="label">
        Replaces the file: {plural(added, 'line')} added, {removed} removed
      </p>
      {hunksOf(lines).map((hunk, i) => (
        <DiffLines key={i} lines={hunk.lines} label={`Changes of ${visible(path)}`} numbered />
      ))}
    </div>
  );
}

const whenOf = ({ live, readTime }: WorkspaceFile) =>
  live ? `Compared with the file at ${clockSeconds(readTime ?? Date.now())}.` : `The workspace is not running: compared with the file that was kept on ${new Date(readTime ?? Date.now()).toLocaleString('en-GB')}.`;

const whole = 'This is the whole new content.';

/** Why there is nothing to compare with. */
function reasonOf(file: Exclude<Loaded<WorkspaceFile>, { state: 'loading' }>): string {
  if (file.state === 'failed') return `${whole} The file that it replaces cannot be read: ${explainServer(file.error.message).title}`;
  const { state, live, readTime, message } = file.value;
  switch (state) {
    case 'Missing':
      return live ? `New file: at ${clockSeconds(readTime ?? Date.now())} there was no file with this path.` : 'New file: the workspace starts without a file with this path.';
    case 'Binary':
      return `${whole} The file that it replaces is not text.`;
    case 'TooLarge':
      return `${whole} The file that it replaces has more than 1 MiB.`;
    default:
      return `${whole} The file that it replaces cannot be read: ${message ?? 'the workspace is not running'}.`;
  }
}
