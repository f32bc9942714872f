// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { memo, type ReactNode } from 'react';
import type { Entry, EntryKind } from '../api/history';
import { explainModel } from '../model/errors';
import { bytes, clockSeconds, plural, tokens } from '../model/format';
import type { Item, Streaming } from '../model/transcript';
import { DataView } from './DataView';
import { ErrorText } from './ErrorText';
import { Icon, type IconName } from './Icon';
import { Code, Markdown } from './Markdown';
import { Reasoning } from './Reasoning';
import { words } from '../model/errors';
import { brief, ToolCard } from './ToolCard';

const looks: Record<EntryKind, { label: string; icon: IconName; kind?: string }> = {
  Started: { label: 'Assignment', icon: 'chevron' },
  User: { label: 'Person', icon: 'chat' },
  Assistant: { label: 'Model', icon: 'dot' },
  Summary: { label: 'Summary of earlier messages', icon: 'copy' },
  ToolResult: { label: 'Tool result', icon: 'tool' },
  ChildResult: { label: 'Result of an agent', icon: 'branch' },
  Question: { label: 'Question of an agent', icon: 'hand', kind: 'waiting' },
  Approval: { label: 'Request of an agent', icon: 'hand', kind: 'waiting' },
  Answer: { label: 'Answer', icon: 'reply' },
  Decision: { label: 'Decision', icon: 'check' },
  Allowance: { label: 'Allowance', icon: 'check' },
  Error: { label: 'Model error', icon: 'alert', kind: 'failed' },
  Limit: { label: 'Limit reached', icon: 'clock', kind: 'failed' },
  Cancelled: { label: 'Cancelled', icon: 'ban' },
  Restarted: { label: 'Another operator took over', icon: 'restart' },
  Delta: { label: 'Model', icon: 'dot' },
};

/** One item of a transcript. */
export const EntryView = memo(function EntryView({ item, open, onToggle, onInspect, onFork }: { item: Item; open: boolean; onToggle: (key: string) => void; onInspect: (name: string) => void; onFork?: (seq: number) => void }) {
  if (item.part === 'outcome') return <OutcomeView entry={item.row.entry} />;
  if (item.part === 'words') return <Words entry={item.row.entry} onInspect={onInspect} onFork={onFork} />;
  const { call, key } = item;
  if (call.tool === 'think') return <Thought text={thought(call.arguments)} />;
  return <ToolCard call={call} open={open} onToggle={() => onToggle(key)} onInspect={onInspect} />;
});

function Words({ entry, onInspect, onFork }: { entry: Entry; onInspect: (name: string) => void; onFork?: (seq: number) => void }) {
  const look = looks[entry.kind] ?? { label: entry.kind, icon: 'dot' };
  return (
    <article className={`entry ${entry.kind.toLowerCase()} ${look.kind ?? ''}`} aria-label={look.label}>
      <header>
        <Icon name={look.icon} size={14} />
        <span className="entry-who">{look.label}</span>
        {entry.child && (
          <button type="button" className="chip" onClick={() => onInspect(entry.child!)}>
            {entry.child}
          </button>
        )}
        {entry.user && <span>by {entry.user}</span>}
        {entry.error && <span className="entry-error">{words(entry.error)}</span>}
        <span className="entry-facts">
          {entry.usage && `${tokens((entry.usage.promptTokens ?? 0) + (entry.usage.completionTokens ?? 0))} tokens`}
          <time dateTime={entry.time}>{clockSeconds(entry.time)}</time>
          {onFork && (
            <button type="button" className="fork-here" aria-label={`Fork from entry ${entry.seq}`} title="Fork from here" onClick={() => onFork(entry.seq)}>
              <Icon name="branch" size={14} />
            </button>
          )}
        </span>
      </header>
      {entry.reasoning && <Reasoning text={entry.reasoning} used={entry.usage?.reasoningTokens} />}
      <Body entry={entry} />
      {entry.images?.map((image) => (
        <p key={image.digest} className="entry-image">
          <Icon name="copy" size={14} /> {image.name ?? 'image'} <span className="muted">{`${image.mediaType}, ${bytes(image.size)}`}</span>
        </p>
      ))}
      {entry.kind !== 'Assistant' && entry.toolCalls?.map((call) => <code key={call.id} className="entry-call">{[call.tool, call.phase].filter(Boolean).join(': ')}</code>)}
      {entry.systemPrompt && <Folded title="System prompt">{<Code text={entry.systemPrompt} label="System prompt" />}</Folded>}
      {entry.truncated && <p className="note waiting">The reply reached the limit of output tokens and is cut off.</p>}
    </article>
  );
}

function Body({ entry }: { entry: Entry }) {
  if (!entry.content) return null;
  if (entry.kind === 'Error' && entry.error !== 'HistoryLost') return <ErrorText error={explainModel(entry.content)} />;
  if (entry.kind === 'Cancelled') return <Folded title="What had arrived of the reply">{<Markdown text={entry.content} />}</Folded>;
  if (entry.kind === 'ToolResult') return <Code text={entry.content} label="Result" />;
  return <Markdown text={entry.content} />;
}

function OutcomeView({ entry }: { entry: Entry }) {
  const outcome = entry.outcome!;
  const failed = Boolean(outcome.errorKind);
  return (
    <div className={`outcome ${failed ? 'failed' : 'success'}`}>
      <strong>
        <Icon name={failed ? 'cross' : 'check'} size={14} />
        {failed ? words(outcome.errorKind!) : 'Finished'}
        {outcome.iterations ? <span className="muted"> after {plural(outcome.iterations, 'iteration')}</span> : null}
      </strong>
      {outcome.error && <ErrorText error={outcome.errorKind === 'ModelError' ? explainModel(outcome.error) : { title: outcome.error }} />}
      {outcome.summary && <Markdown text={outcome.summary} />}
      {outcome.result && outcome.result !== outcome.summary && outcome.result !== entry.content && <Markdown text={outcome.result} />}
      {outcome.data && <DataView data={outcome.data} />}
      {outcome.details && <Folded title="Details">{<Markdown text={outcome.details} />}</Folded>}
    </div>
  );
}

function Folded({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className="folded">
      <summary>{title}</summary>
      {children}
    </details>
  );
}

function Thought({ text }: { text: string }) {
  return (
    <div className="thought">
      <span className="label">Thought</span>
      <Markdown text={text} />
    </div>
  );
}

function thought(text: string | undefined): string {
  try {
    const { thought } = JSON.parse(text ?? '') as { thought?: unknown };
    if (typeof thought === 'string') return thought;
  } catch {
    // Not JSON: shown unchanged.
  }
  return text ?? '';
}

/** The model's reply while it streams in. */
export function StreamingView({ streaming }: { streaming: Streaming }) {
  return (
    <article className="entry assistant streaming" aria-label="The model is writing">
      <header>
        <span className="pulse" aria-hidden="true" />
        <span className="entry-who">Model</span>
        <span className="entry-facts">writing</span>
      </header>
      {streaming.reasoning && <Reasoning text={streaming.reasoning} live={!streaming.text} />}
      {streaming.text && <Markdown text={streaming.text} />}
      {streaming.toolCalls.map((call, i) => (
        <p key={i} className="streaming-call">
          <Icon name="tool" size={14} /> <code>{call.tool}</code> <span>{brief(call.arguments, call.tool)}</span>
        </p>
      ))}
      {streaming.lost && <p className="muted">Parts of the stream were skipped; the complete reply follows.</p>}
    </article>
  );
}
