// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Condition } from '../api/types';

/** Why a chat or a run makes no progress although nothing has failed. */
export interface Standstill {
  reason: string;
  message: string;
  /** A chat reached a limit and goes on with a person's next message. Else the work goes on by itself. */
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
  PausedTurnLimit: 'Paused: many turns without a person',
  PausedTaskLimit: 'Paused: many tasks without a person',
  PausedTokenLimit: 'Paused: many tokens without a person',
  PausedLoop: 'Paused: the same work came again and again',
  RateLimited: 'Waiting: the model provider limits requests',
  ProviderUnavailable: 'Waiting: the model provider does not answer',
  Retrying: 'Waiting: the model call is tried again',
  QueuedForProvider: 'Waiting for a turn at the model provider',
  QuotaExhausted: 'Waiting: the quota of the namespace is used up',
};

/** A standstill in a few words. */
export const headOf = ({ reason, paused }: Standstill) => heads[reason] ?? (paused ? 'Paused' : 'Waiting');
