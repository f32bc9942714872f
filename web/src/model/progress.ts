// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** The part of a report that is done, from 0 to 1, if the tool says it. The operator writes "3/10 reading files" or "30% reading files". */
export function partOf(text: string): number | undefined {
  const of = /^(\d+)\/(\d+)(?: |$)/.exec(text);
  const percent = /^(\d+)%(?: |$)/.exec(text);
  const part = of ? Number(of[1]) / Number(of[2]) : percent ? Number(percent[1]) / 100 : NaN;
  return Number.isFinite(part) ? Math.min(1, part) : undefined;
}
