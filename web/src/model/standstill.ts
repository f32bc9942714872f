// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Condition, Task } from '../api/types';

/** Why a chat or a run makes no progress although nothing has failed. */
export interface Standstill {
  reason: string;
  message: string;
  /** True if a chat reached a limit and continues with a person's next message. Otherwise work continues automatically. */
  paused: boolean;
}

export function standstillOf(conditions: Condition[] | undefined): Standstill | undefined {
  for (const { type, status, reason, message } of conditions ?? []) {
    const paused = type === 'Ready' && status === 'True' && reason.startsWith('Paused');
    const waits =
      (type === 'Progressing' && status === 'False') ||
      (reason === 'QuotaExhausted' && ((type === 'Ready' && status === 'False') || (type === 'Succeeded' && status === 'Unknown')));
    if (paused || waits) return { reason, message, paused };
  }
  return undefined;
}

const heads: Record<string, string> = {
  PausedTurnLimit: 'Paused: too many turns without a person',
  PausedTaskLimit: 'Paused: too many tasks without a person',
  PausedTokenLimit: 'Paused: too many tokens without a person',
  PausedLoop: 'Paused: the same work was delegated repeatedly',
  RateLimited: 'Waiting: the model provider limits the rate',
  ProviderUnavailable: 'Waiting: the model provider does not answer',
  Retrying: 'Waiting: the model call will be retried',
  QueuedForProvider: 'Waiting: queued for the model provider',
  QuotaExhausted: 'Waiting: the quota of the namespace is used up',
};

/** A short description of a standstill. */
export const headOf = ({ reason, paused }: Standstill) => heads[reason] ?? (paused ? 'Paused' : 'Waiting');

/** The reasons for which a task that has not started waits for its turn. */
const queued = new Set(['Pending', 'ParallelLimit', 'QuotaExhausted', 'LedgerQuota', 'LedgerUnavailable']);

/** Why a task cannot start until somebody does something, for example because its role does not exist. */
export function obstacleOf({ status }: Task): string | undefined {
  if (status?.phase && status.phase !== 'Pending') return undefined;
  const succeeded = status?.conditions?.find(({ type }) => type === 'Succeeded');
  return succeeded && !queued.has(succeeded.reason) && !standstillOf(status?.conditions) ? succeeded.message || undefined : undefined;
}
