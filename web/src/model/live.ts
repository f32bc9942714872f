// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Task } from '../api/types';

/** How many running sub-agents a page follows. The server allows two more: the chat's own transcript and the inspected one. */
export const mostLive = 8;

/**
 * The names of the sub-agents whose replies the page shows while they arrive: the running ones. If there are too many, those
 * that started last, because the first ones are likely to wait for them.
 */
export function liveAgents(tasks: Task[], limit = mostLive): string[] {
  return tasks
    .filter(({ spec, status }) => spec.type === 'Agent' && status?.phase === 'Running' && status.subAgent)
    .sort((a, b) => (a.status?.startTime ?? '').localeCompare(b.status?.startTime ?? '') || a.metadata.name.localeCompare(b.metadata.name))
    .slice(-limit)
    .map(({ status }) => status!.subAgent!)
    .sort();
}
