// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Badge, Evaluation, EvaluationLane } from '../api/types';
import { plural } from './format';

const verdicts: Record<NonNullable<NonNullable<Evaluation['status']>['verdict']>, Badge> = { Passed: 'success', Failed: 'failed', Inconclusive: 'waiting' };

/** The verdict of an evaluation, its progress, or why it has none. */
export function standingOf({ status = {} }: Evaluation): { badge: Badge; label: string } {
  const { verdict, completedTasks = 0, totalTasks = 0, conditions = [] } = status;
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready?.status === 'False') return { badge: 'failed', label: 'Not ready' };
  if (verdict) return { badge: verdicts[verdict], label: verdict };
  if (conditions.some(({ type, status: is }) => type === 'Reconciling' && is === 'True')) return { badge: 'running', label: `${completedTasks} of ${plural(totalTasks, 'task')}` };
  return { badge: 'pending', label: ready ? 'No candidate' : 'Not checked yet' };
}

/** What an evaluation reports: what it does at present, or its verdict with the reasons. */
export function messageOf({ status: { conditions = [] } = {} }: Evaluation): string | undefined {
  const message = (wanted: string) => conditions.find(({ type }) => type === wanted)?.message;
  return message('Reconciling') ?? message('Ready');
}

/** How many runs of a revision passed, of those that have an outcome: 3 of 4. */
export const passedOf = (lane: EvaluationLane | undefined) => lane && `${lane.passed ?? 0} of ${(lane.passed ?? 0) + (lane.failed ?? 0)}`;

/** How much more the candidate costs, once there is a verdict: +20%. */
export function costIncreaseOf({ status: { verdict, costIncreasePercent: percent } = {} }: Evaluation): string | undefined {
  if (!verdict) return undefined;
  return percent === undefined ? 'unknown' : `${percent > 0 ? '+' : ''}${percent}%`;
}
