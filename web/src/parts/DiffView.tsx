// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { memo, type ReactNode } from 'react';
import { changedPart, counterparts, type FileChange, type Line } from '../model/diff';
import { visible } from '../model/format';
import { Code } from './Code';
import { CopyButton } from './CopyButton';

/** A longer diff is shown as text: as many elements would block the page. */
const mostLines = 4000;

const signs: Record<Line['kind'], string> = { same: ' ', added: '+', removed: '-', note: '\\' };

/** The lines of a diff. The signs are text, so that a diff can be read without colours, and aloud. */
export const DiffLines = memo(function DiffLines({ lines, label, numbered }: { lines: Line[]; label: string; numbered?: boolean }) {
  const text = lines.map((line) => signs[line.kind] + line.text).join('\n');
  if (lines.length > mostLines) return <Code text={visible(text)} label={label} />;
  const others = counterparts(lines);
  return (
    <div className="code-frame">
      <div className="diff" role="region" tabIndex={0} aria-label={label}>
        <div className="diff-lines">
          {lines.map((line, i) => (
            <div key={i} className={`diff-line ${line.kind}`}>
              {numbered && (
                <span className="diff-number" aria-hidden="true">
                  {line.kind === 'note' ? '' : (line.after ?? line.before)}
                </span>
              )}
              <span className="diff-sign">{signs[line.kind]}</span>
              <span className="diff-text">{textOf(line, others.get(line))}</span>
            </div>
          ))}
        </div>
      </div>
      <CopyButton text={text} what={label.toLowerCase()} />
    </div>
  );
});

function textOf(line: Line, other: Line | undefined): ReactNode {
  if (!other) return visible(line.text);
  const [start, end] = changedPart(line.text, other.text);
  if (start === end || (start === 0 && end === line.text.length)) return visible(line.text);
  return (
    <>
      {visible(line.text.slice(0, start))}
      <mark>{visible(line.text.slice(start, end))}</mark>
      {visible(line.text.slice(end))}
    </>
  );
}

/** The change of a file that a tool call asks for. */
export function ChangeView({ change, why }: { change: FileChange; why?: ReactNode }) {
  return (
    <div className="change">
      {change.blocks.map(({ title, lines }, i) => (
        <div key={i} className="change-block">
          {title && <p className="label">{title}</p>}
          {lines.length === 0 ? <p className="muted">{change.whole ? 'The file becomes empty.' : 'Nothing is replaced by nothing.'}</p> : <DiffLines lines={lines} label={`Changes of ${visible(change.path)}`} />}
        </div>
      ))}
      {change.whole && <p className="muted">{why ?? 'This is the whole new content. If the file exists, it is replaced; what it contains now is not known here.'}</p>}
    </div>
  );
}
