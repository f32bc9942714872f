// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Segment, SegmentKind } from '../api/history';
import type { Badge } from '../api/types';
import { badgeOf, finished, flatten, transcriptName, type Node } from './tree';

/** An agent or a tool run, in a row of the timeline. */
export interface Lane {
  /** The name of its transcript. */
  transcript: string;
  /** Absent for the orchestrator of a chat. */
  node?: Node;
  depth: number;
  /** What it did, as the server computed it; absent until it is loaded. */
  trace?: Segment[];
}

/** One row of the timeline: what an agent did. */
export interface Bar {
  lane: Lane;
  /** The row, from the top. */
  row: number;
  /** From 0 to 1. */
  start: number;
  end: number;
  badge: Badge;
  /** Empty if the trace is not loaded. */
  parts: Part[];
}

/** The visible part of a segment. */
export interface Part {
  segment: Segment;
  start: number;
  end: number;
  /** In milliseconds. */
  took: number;
}

/** A line between an agent and its child: out when the child starts, in when it ends. */
export interface Link {
  from: number;
  to: number;
  at: number;
  kind: 'out' | 'in';
}

export interface Picture {
  bars: Bar[];
  links: Link[];
  begin: number;
  end: number;
  ticks: { at: number; label: string }[];
}

/** The rows of a chat or a standalone task: the orchestrator, if there is one, and what was delegated. */
export function lanesOf(orchestrator: string | undefined, roots: Node[]): Lane[] {
  const below = flatten(roots).map((node): Lane => ({ transcript: transcriptName([node.task], node.name), node, depth: node.depth - (orchestrator ? 0 : 1) }));
  return orchestrator ? [{ transcript: orchestrator, depth: 0 }, ...below] : below;
}

/** Draws what the agents did since a time: until what was delegated has ended and the orchestrator is idle. */
export function draw(lanes: Lane[], now: number, since?: number): Picture | undefined {
  const shown = lanes.filter((lane) => startOf(lane) !== undefined);
  if (shown.length === 0) return undefined;
  const begin = since === undefined ? Math.min(...shown.map((lane) => startOf(lane)!)) : Math.min(since, ...shown.filter(({ node }) => node).map((lane) => startOf(lane)!));
  const until = Math.max(begin, ...shown.map((lane) => (lane.node || since === undefined ? endOf(lane, now) : idleFrom(lane, begin, now))));
  const end = Math.max(begin + 1000, until);
  const place = (time: number) => Math.min(1, Math.max(0, (time - begin) / (end - begin)));
  const rows = new Map(shown.map((lane, row) => [lane.node?.name ?? '', row]));
  const bars = shown.map((lane, row): Bar => {
    const badge = lane.node ? badgeOf(lane.node) : lane.trace?.at(-1)?.kind === 'Idle' ? 'success' : 'running';
    const parts = (lane.trace ?? []).flatMap((segment): Part[] => {
      const from = Date.parse(segment.startTime);
      const to = timeOf(segment.endTime, now);
      if ((to <= begin && from < begin) || from >= end || (to === from && segment.kind !== 'Model' && segment.kind !== 'Tool')) return [];
      return [{ segment, start: place(from), end: place(to), took: to - from }];
    });
    return { lane, row, start: place(startOf(lane)!), end: place(endOf(lane, now)), badge, parts };
  });
  const links = shown.flatMap((lane) => {
    const from = lane.node && rows.get(lane.node.parent?.name ?? '');
    const to = rows.get(lane.node?.name ?? '')!;
    if (from === undefined) return [];
    const out: Link = { from, to, at: place(startOf(lane)!), kind: 'out' };
    return finished(lane.node!) ? [out, { from, to, at: place(endOf(lane, now)), kind: 'in' } satisfies Link] : [out];
  });
  return { bars, links, begin, end, ticks: ticks(end - begin) };
}

const timeOf = (time: string | undefined, now: number) => (time ? Date.parse(time) : now);

function startOf({ node, trace }: Lane): number | undefined {
  const start = trace?.[0]?.startTime ?? node?.task.status?.startTime;
  return start === undefined ? undefined : Date.parse(start);
}

function endOf(lane: Lane, now: number): number {
  const last = lane.trace?.at(-1);
  return Math.max(startOf(lane)!, last ? timeOf(last.endTime, now) : timeOf(lane.node?.task.status?.completionTime, now));
}

/** When the orchestrator was first idle after a time. */
function idleFrom({ trace = [] }: Lane, begin: number, now: number): number {
  const idle = trace.find(({ kind, startTime }) => kind === 'Idle' && Date.parse(startTime) > begin);
  return idle ? Date.parse(idle.startTime) : timeOf(trace.at(-1)?.endTime, now);
}

/** Adds newer segments to a trace: the first of them continues the one that was the newest. */
export function extend(trace: Segment[], newer: Segment[]): Segment[] {
  const first = newer[0]?.seq;
  return first === undefined ? trace : [...trace.filter(({ seq }) => seq < first), ...newer];
}

export const segmentNames: Record<SegmentKind, string> = {
  Model: 'Model call',
  Tool: 'Tool call',
  Queue: 'Waits in a queue',
  User: 'Waits for you',
  Children: 'Waits for those it delegated to',
  Idle: 'Idle',
};

const reasons: Record<NonNullable<Segment['reason']>, string> = {
  Retry: 'Waits to repeat a model call',
  Quota: 'Waits for a quota',
  Slot: 'Waits until fewer agents are active',
  Restart: 'Another operator took over',
  Hold: 'Waits for its configuration',
  Paused: 'Paused at a limit',
  Approval: 'Waits for your approval',
  Question: 'Waits for your answer',
};

/** A segment in words, with the tools. */
export function describe({ kind, reason, toolCalls = [] }: Segment): string {
  const name = reason ? reasons[reason] : segmentNames[kind];
  const tools = [...new Set(toolCalls.map(({ tool }) => tool))].join(', ');
  return tools && kind !== 'Children' ? `${name}: ${tools}` : name;
}

/** The entries of the transcript that a segment is about: from the reply that requests its tool calls to its end. */
export function entriesOf(segment: Segment, trace: Segment[]): { first: number; last: number } | undefined {
  if (segment.kind === 'Model' || segment.toolCalls === undefined) return segment.endSeq === undefined ? undefined : { first: segment.endSeq, last: segment.endSeq };
  const reply = trace.findLast(({ kind, modelCall, endSeq }) => kind === 'Model' && modelCall === segment.modelCall && (endSeq ?? Infinity) <= segment.seq);
  return { first: reply?.endSeq ?? 1, last: segment.endSeq ?? segment.seq };
}

const steps = [0.25, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** At most seven marks at round times. */
export function ticks(span: number): { at: number; label: string }[] {
  const seconds = span / 1000;
  const step = steps.find((candidate) => seconds / candidate <= 6) ?? Math.ceil(seconds / 6);
  const marks = [];
  for (let at = 0; at <= seconds; at += step) marks.push({ at: at / seconds, label: label(at) });
  return marks;
}

function label(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return seconds % 60 === 0 ? `${seconds / 60} min` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  return `${Math.round((seconds / 3600) * 10) / 10} h`;
}
