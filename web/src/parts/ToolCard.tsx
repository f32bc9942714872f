// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Call } from '../model/transcript';
import { changeIn, countsOf, linesIn, reportedHunks, writtenSoFar } from '../model/diff';
import { plural, pretty } from '../model/format';
import { Arguments } from './Arguments';
import { Icon, type IconName } from './Icon';
import { Code } from './Markdown';

const looks: Record<string, { icon: IconName; label: string; kind: string }> = {
  Pending: { icon: 'dots', label: 'will run', kind: 'pending' },
  Running: { icon: 'restart', label: 'running', kind: 'running' },
  Delegated: { icon: 'branch', label: 'delegated', kind: 'delegating' },
  WaitingForApproval: { icon: 'hand', label: 'needs your approval', kind: 'waiting' },
  WaitingForUser: { icon: 'hand', label: 'waits for an answer', kind: 'waiting' },
  Success: { icon: 'check', label: 'done', kind: 'success' },
  Failed: { icon: 'cross', label: 'failed', kind: 'failed' },
  Denied: { icon: 'ban', label: 'denied', kind: 'cancelled' },
  Unknown: { icon: 'alert', label: 'outcome unknown', kind: 'timedout' },
};

const delegations = new Set(['delegate_to_agent', 'spawn_agents', 'continue_agent']);

export const isDelegation = (tool: string | undefined) => delegations.has(tool ?? '');

/** A tool call with its input and output. */
export function ToolCard({ call, open, onToggle, onInspect }: { call: Call; open: boolean; onToggle: () => void; onInspect?: (name: string) => void }) {
  const look = looks[call.phase] ?? looks.Running!;
  const isAgent = isDelegation(call.tool) || call.children.length > 0;
  return (
    <div className={`tool-card ${look.kind}`}>
      <button type="button" className="tool-head" aria-expanded={open} onClick={onToggle}>
        <Icon name="chevron" size={12} />
        <Icon name={isAgent ? 'users' : 'tool'} size={14} />
        <code className="tool-name">{call.tool}</code>
        <span className="tool-brief">{brief(call.decision?.edited ?? call.arguments, call.tool, call.diff)}</span>
        <span className={`tool-state ${look.kind}`}>
          <Icon name={look.icon} size={12} />
          {look.label}
        </span>
      </button>
      {call.children.length > 0 && onInspect && (
        <div className="tool-children">
          {call.children.map((child) => (
            <button key={child} type="button" className="chip" onClick={() => onInspect(child)}>
              <Icon name="eye" size={12} /> {child}
            </button>
          ))}
        </div>
      )}
      {open && (
        <div className="tool-body">
          {call.argumentsOmitted && <p className="muted">The input is too large to show here. The inspector has it.</p>}
          {call.arguments !== undefined && call.arguments !== '' && (
            <>
              <h3>Input</h3>
              <Arguments text={call.arguments} tool={call.tool} ran={call} />
            </>
          )}
          {call.decision && (
            <p className="comment">
              {call.decision.decided}
              {call.decision.by ? ` by ${call.decision.by}` : ''}
              {call.decision.comment ? `: “${call.decision.comment}”` : ''}
            </p>
          )}
          {call.decision?.edited && (
            <>
              <h3>Changed input</h3>
              <Arguments text={call.decision.edited} tool={call.tool} />
            </>
          )}
          {call.output !== undefined && (
            <>
              <h3>Output</h3>
              {call.output === '' ? <p className="muted">No output.</p> : <Code text={pretty(call.output)} label={`Output of ${call.tool}`} />}
            </>
          )}
          {call.output === undefined && call.arguments === '' && <p className="muted">No input and no output yet.</p>}
        </div>
      )}
    </div>
  );
}

/** The values of the arguments on one line; the card has the names. */
export function brief(text: string | undefined, tool?: string, diff?: string): string {
  if (!text) return '';
  const change = changeIn(tool, text);
  if (change) {
    const blocks = diff ? reportedHunks(diff) : change.blocks;
    const { added, removed } = countsOf(blocks.flatMap(({ lines }) => lines));
    // Without a difference, the lines that a write replaced are not known.
    return change.whole && !diff ? `${change.path}, ${plural(added, 'line')}` : `${change.path} +${added} −${removed}`;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) {
      return Object.values(value)
        .map((part) => (typeof part === 'string' ? part : JSON.stringify(part)))
        .join(' · ')
        .slice(0, 200);
    }
  } catch {
    // Models do not always write JSON, and a reply may be cut off.
  }
  const part = writtenSoFar(tool, text);
  return part ? `${part.path}, ${plural(linesIn(part.content), 'line')} so far` : text.slice(0, 200);
}
