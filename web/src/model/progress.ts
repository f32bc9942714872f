// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { finished, type Node } from './tree';

/** What a running tool reports. */
export interface Progress {
  call: string;
  tool: string;
  text: string;
  /** The part that is done, from 0 to 1, if the tool says it. */
  part?: number;
}

/** What the running tools of a task report. */
export function progressOf(node: Node): Progress[] {
  if (finished(node)) return [];
  const { spec, status } = node.task;
  const own = status?.progress ? [{ call: node.name, tool: spec.tool ?? 'tool', text: status.progress, part: partOf(status.progress) }] : [];
  const calls = (node.agent?.status?.toolCalls ?? []).flatMap(({ id, tool, phase, progress }) => (progress && phase === 'Running' ? [{ call: id, tool, text: progress, part: partOf(progress) }] : []));
  return [...own, ...calls];
}

/** The operator writes "3/10 reading files" or "30% reading files". */
export function partOf(text: string): number | undefined {
  const of = /^(\d+)\/(\d+)(?: |$)/.exec(text);
  const percent = /^(\d+)%(?: |$)/.exec(text);
  const part = of ? Number(of[1]) / Number(of[2]) : percent ? Number(percent[1]) / 100 : NaN;
  return Number.isFinite(part) ? Math.min(1, part) : undefined;
}
