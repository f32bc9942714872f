// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Badge } from '../api/types';
import { badgeOf, finished, flatten, type Node } from './tree';

/** One row of the timeline: when a task ran. */
export interface Bar {
  node: Node;
  /** The row, from the top. */
  row: number;
  /** From 0 to 1. */
  start: number;
  end: number;
  badge: Badge;
  /** The spans in which it only waited for its children. */
  idle: { start: number; end: number }[];
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

/** Draws the tasks of a tree over time. */
export function draw(roots: Node[], now: number): Picture | undefined {
  const nodes = flatten(roots).filter((node) => startOf(node) !== undefined);
  if (nodes.length === 0) return undefined;
  const begin = Math.min(...nodes.map((node) => startOf(node)!));
  const end = Math.max(begin + 1000, ...nodes.map((node) => endOf(node, now)));
  const place = (time: number) => (time - begin) / (end - begin);
  const rows = new Map(nodes.map((node, row) => [node.name, row]));
  const bars = nodes.map((node, row) => ({
    node,
    row,
    start: place(startOf(node)!),
    end: place(endOf(node, now)),
    badge: badgeOf(node),
    idle: union(node.children.filter((child) => rows.has(child.name)).map((child) => [startOf(child)!, endOf(child, now)])).map(([from, to]) => ({ start: place(from), end: place(to) })),
  }));
  const links = nodes.flatMap((node) => {
    const from = rows.get(node.parent?.name ?? '');
    const to = rows.get(node.name)!;
    if (from === undefined) return [];
    const out: Link = { from, to, at: place(startOf(node)!), kind: 'out' };
    return finished(node) ? [out, { from, to, at: place(endOf(node, now)), kind: 'in' } satisfies Link] : [out];
  });
  return { bars, links, begin, end, ticks: ticks(end - begin) };
}

const startOf = (node: Node) => (node.task.status?.startTime ? Date.parse(node.task.status.startTime) : undefined);

function endOf(node: Node, now: number): number {
  const { completionTime } = node.task.status ?? {};
  const start = startOf(node)!;
  if (!completionTime) return Math.max(now, start);
  return Math.max(start, Date.parse(completionTime));
}

/** Joins spans that overlap. */
export function union(spans: [number, number][]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
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
