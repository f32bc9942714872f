// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Entry, EntryToolCall } from '../api/history';

/** The reply that is streaming in. */
export interface Streaming {
  text: string;
  reasoning: string;
  toolCalls: { tool: string; arguments: string }[];
  lost: boolean;
  /** The model call that it is the reply to. */
  call?: string;
  /** The connection was lost: the next delta has everything so far. */
  stale?: boolean;
}

/** The loaded part of an agent's transcript. */
export interface TranscriptState {
  /** In the order of seq, without gaps between the first and the last. */
  entries: Entry[];
  streaming?: Streaming;
  /** The last model call whose reply has ended. A provider may send more of one that was stopped. */
  over?: string;
  /** The newest reply, until the message of the chat that contains it arrives. Stopped if a person stopped it. */
  lastReply?: { text: string; at: number; stopped?: boolean };
  /** The first entry is loaded. */
  complete: boolean;
  ended: boolean;
  absent: boolean;
  problem?: string;
}

export const emptyTranscript: TranscriptState = { entries: [], complete: false, ended: false, absent: false };

/** Adds entries from a stream. Entries that are already present change nothing. */
export function addEntries(state: TranscriptState, arrived: Entry[]): TranscriptState {
  const entries = [...state.entries];
  let streaming = state.streaming;
  let { ended, lastReply, over } = state;
  // The message of a reply that was there before this page is there too, or was deleted.
  const live = state.entries.length > 0 || streaming !== undefined;
  for (const entry of arrived) {
    if (entry.kind === 'Delta') {
      if (!entry.modelCall || entry.modelCall !== over) streaming = appendDelta(streaming, entry);
      continue;
    }
    if (entry.seq <= (entries.at(-1)?.seq ?? -1)) continue;
    entries.push(entry);
    lastReply = completedReply(entry, streaming, live);
    if (entry.kind === 'Assistant' || entry.kind === 'Error' || entry.kind === 'Cancelled' || entry.outcome) {
      over = entry.modelCall ?? streaming?.call ?? over;
      streaming = undefined;
    }
    ended = ended || entry.outcome !== undefined;
  }
  return { ...state, entries, streaming, lastReply, over, ended, absent: false, problem: undefined, complete: state.complete || entries[0]?.kind === 'Started' };
}

/** The reply that an entry completes or stops. */
function completedReply(entry: Entry, streaming: Streaming | undefined, live: boolean): TranscriptState['lastReply'] {
  const stopped = entry.kind === 'Cancelled' ? (entry.content ?? streaming?.text) : undefined;
  if (stopped && live) return { text: stopped, at: Date.now(), stopped: true };
  return entry.kind === 'Assistant' && entry.content && live ? { text: entry.content, at: Date.now() } : undefined;
}

function appendDelta(streaming: Streaming | undefined, entry: Entry): Streaming {
  const delta = entry.delta ?? {};
  const continues = streaming && !streaming.stale && streaming.call === entry.modelCall;
  const before = continues ? streaming : { text: '', reasoning: '', toolCalls: [], lost: false };
  const toolCalls = [...before.toolCalls];
  if (delta.toolCall) {
    const { index, tool = '', arguments: pieces = '' } = delta.toolCall;
    const call = toolCalls[index] ?? { tool: '', arguments: '' };
    toolCalls[index] = { tool: call.tool || tool, arguments: call.arguments + pieces };
  }
  return {
    text: before.text + (delta.text ?? ''),
    reasoning: before.reasoning + (delta.reasoning ?? ''),
    toolCalls,
    lost: before.lost || Boolean(delta.lost),
    ...(entry.modelCall ? { call: entry.modelCall } : {}),
  };
}

/** The state after a reconnect: a reader that joins in the middle of a reply gets everything so far in its first delta. */
export function rejoin(state: TranscriptState): TranscriptState {
  return state.streaming ? { ...state, streaming: { ...state.streaming, stale: true } } : state;
}

/** How long the page waits for the message that contains a reply. */
const postTime = 30_000;

/**
 * The orchestrator's reply that streams in, or that no message contains yet. A reply whose message has already arrived is not shown
 * again.
 */
export function unpostedText(state: TranscriptState | undefined, posted: string[], now: number): string {
  const text = state?.streaming?.text.trim() || (state?.lastReply && now - state.lastReply.at < postTime ? state.lastReply.text.trim() : '');
  if (!text || state?.streaming?.text) return text;
  return posted.some((content) => text.startsWith(content.trim()) || content.trim().startsWith(text)) ? '' : text;
}

/** The reasoning before the replies of an agent, by the text of the reply. */
export function reasoningOf(state: TranscriptState | undefined): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of state?.entries ?? []) if (entry.kind === 'Assistant' && entry.content && entry.reasoning) found.set(entry.content.trim(), entry.reasoning);
  return found;
}

/** Prepends older entries. */
export function prependOlder(state: TranscriptState, older: Entry[], complete: boolean): TranscriptState {
  const first = state.entries[0]?.seq ?? Infinity;
  return { ...state, entries: [...older.filter((entry) => entry.seq < first), ...state.entries], complete };
}

/** A tool call with everything that the transcript contains about it. */
export interface Call extends EntryToolCall {
  /** A status has no large arguments. */
  argumentsOmitted?: boolean;
  at: string;
  output?: string;
  /** The agents that it started. */
  children: string[];
  decision?: { decided: string; by?: string; comment?: string; edited?: string };
}

/** A row of the inspector. */
export interface Row {
  key: string;
  entry: Entry;
  calls: Call[];
}

/**
 * Turns a transcript into rows for people: a tool's result, the decision about it and the results of the agents that it started
 * are shown with the call, not separately.
 */
export function rowsOf(entries: Entry[]): Row[] {
  const rows: Row[] = [];
  const calls = new Map<string, Call>();
  const byChild = new Map<string, Call>();
  for (const entry of entries) {
    if (settles(entry, calls)) continue;
    const row: Row = { key: `${entry.seq}`, entry, calls: [] };
    for (const call of entry.toolCalls ?? []) {
      if (entry.kind !== 'Assistant') continue;
      const known: Call = { ...call, at: entry.time, output: call.result, children: [] };
      calls.set(call.id, known);
      row.calls.push(known);
    }
    for (const child of entry.children ?? []) {
      const call = child.toolCall ? calls.get(child.toolCall) : undefined;
      call?.children.push(child.name);
      if (call) byChild.set(child.name, call);
    }
    if (entry.kind === 'ChildResult' && entry.child) {
      const call = byChild.get(entry.child);
      const settled = entry.toolCalls?.find((c) => c.id === call?.id);
      if (call && settled) Object.assign(call, { phase: settled.phase, output: settled.result ?? call.output });
    }
    rows.push(row);
  }
  return rows;
}

/** Reports whether an entry only contains outcomes of calls that are already shown. */
function settles(entry: Entry, calls: Map<string, Call>): boolean {
  if (entry.kind !== 'ToolResult' && entry.kind !== 'Decision' && entry.kind !== 'Answer') return false;
  const about = entry.toolCalls ?? [];
  if (about.length === 0 || entry.outcome || !about.every((call) => calls.has(call.id))) return false;
  for (const update of about) {
    const call = calls.get(update.id)!;
    call.phase = update.phase;
    call.diff = update.diff ?? call.diff;
    if (entry.kind === 'Decision') {
      const approved = entry.allowance ? 'Allowed for this chat' : update.arguments ? 'Approved with changed arguments' : 'Approved';
      call.decision = { decided: entry.decision === 'Deny' || update.phase === 'Denied' ? 'Denied' : approved, by: entry.user, comment: entry.content, ...(update.arguments ? { edited: update.arguments } : {}) };
      call.output = update.result ?? call.output;
    } else {
      call.output = update.result ?? entry.content ?? call.output;
    }
  }
  return true;
}

/** A part of a row that is a separate list item: a row with many calls is long, and only visible items are rendered. */
export type Item = { key: string; row: Row } & ({ part: 'words' } | { part: 'outcome' } | { part: 'call'; call: Call });

export function itemsOf(rows: Row[]): Item[] {
  return rows.flatMap((row) => [
    { key: row.key, row, part: 'words' as const },
    ...row.calls.map((call) => ({ key: `${row.key}/${call.id}`, row, part: 'call' as const, call })),
    ...(row.entry.outcome ? [{ key: `${row.key}/outcome`, row, part: 'outcome' as const }] : []),
  ]);
}

/** Estimates the height of an item before it is rendered: the better the estimate, the less the list moves. */
export function heightOf(item: Item | undefined): number {
  if (item?.part !== 'words') return item?.part === 'call' ? 40 : 96;
  const text = item.row.entry.content ?? '';
  return (item.row.entry.kind === 'Assistant' ? 42 : 66) + (text ? Math.min(40, Math.ceil(text.length / 62)) * 20 + 4 : 0);
}

/** The filter for rows. */
export type Filter = 'all' | 'words' | 'tools' | 'errors';

export function filterRows(rows: Row[], filter: Filter, search: string): Row[] {
  const wanted = search.trim().toLowerCase();
  return rows.filter((row) => passes(row, filter) && (wanted === '' || textOf(row).includes(wanted)));
}

function passes({ entry, calls }: Row, filter: Filter): boolean {
  switch (filter) {
    case 'all':
      return true;
    case 'words':
      return Boolean(entry.content) && entry.kind !== 'ToolResult';
    case 'tools':
      return calls.length > 0 || entry.kind === 'ToolResult' || entry.kind === 'ChildResult';
    case 'errors':
      return Boolean(entry.error || entry.outcome?.errorKind) || entry.kind === 'Limit' || entry.kind === 'Error' || calls.some((call) => failedPhases.has(call.phase));
  }
}

const failedPhases = new Set(['Failed', 'Denied', 'Unknown']);

function textOf({ entry, calls }: Row): string {
  return [entry.content, entry.child, ...calls.flatMap((call) => [call.tool, call.arguments, call.output])].join('\n').toLowerCase();
}
