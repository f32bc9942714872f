// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Badge, Message, Resource, Result, Task, Trigger, TriggerSpec } from '../api/types';
import { annotationFire, annotationFireResult, annotationFiring } from '../api/types';

/** The work of one firing. */
export interface Run {
  name: string;
  /** The id of the firing. */
  firing: string;
  time: string;
  badge: Badge;
  /** The summary of the result, or the error. */
  text?: string;
  result?: Result;
  task?: Task;
  /** The chat of a message. */
  chat?: string;
}

/** The source of a trigger in words. */
export function sourceOf({ schedule, webhook, watch }: TriggerSpec): string {
  if (schedule) return [schedule.cron, schedule.timeZone].filter(Boolean).join(' ');
  if (webhook) return `webhook, ${webhook.format ?? 'Generic'}`;
  if (watch) return `watch of ${watch.kind}`;
  return '–';
}

const taskBadges: Record<string, Badge> = { Pending: 'pending', Running: 'running', Waiting: 'waiting', Success: 'success', Failed: 'failed', Cancelled: 'cancelled' };

/** The runs of a trigger, newest first. The UID in the annotation decides: people can set the label, and an earlier trigger may have had the name. */
export function runsOf(trigger: Trigger, tasks: Task[], messages: Message[]): Run[] {
  const firing = (object: Resource) => {
    const [uid, ...id] = (object.metadata.annotations?.[annotationFiring] ?? '').split('/');
    return uid === trigger.metadata.uid ? id.join('/') : undefined;
  };
  const runs: Run[] = [];
  for (const task of tasks) {
    const id = firing(task);
    if (id === undefined) continue;
    const { phase, error, result } = task.status ?? {};
    const badge = error?.kind === 'TimedOut' ? 'timedout' : (taskBadges[phase ?? 'Pending'] ?? 'pending');
    runs.push({ name: task.metadata.name, firing: id, time: task.metadata.creationTimestamp, badge, text: error ? [error.kind, error.message].filter(Boolean).join(': ') : result?.summary, result, task });
  }
  for (const message of messages) {
    const id = firing(message);
    if (id === undefined) continue;
    const { phase, reason } = message.status ?? {};
    const badge = phase === 'Handled' ? 'success' : phase === 'Rejected' ? 'failed' : 'pending';
    runs.push({ name: message.metadata.name, firing: id, time: message.metadata.creationTimestamp, badge, text: reason, chat: message.spec.chat });
  }
  return runs.sort((a, b) => b.time.localeCompare(a.time) || a.name.localeCompare(b.name));
}

export type Outcome = { state: 'waiting' } | { state: 'fired' } | { state: 'not-fired'; reason: string };

/** What became of a request to fire a trigger. */
export function outcomeOf(trigger: Trigger, request: string): Outcome {
  const { annotations = {} } = trigger.metadata;
  const { status = {} } = trigger;
  const id = `m${request}`;
  if (read(annotations[annotationFire])?.id === request) return { state: 'waiting' };
  if (status.lastDrop?.id === id) return { state: 'not-fired', reason: status.lastDrop.message || status.lastDrop.reason };
  if (status.pending?.some((firing) => firing.id === id && !firing.uid)) return { state: 'waiting' };
  if (status.lastFireID === id) return { state: 'fired' };
  const result = read(annotations[annotationFireResult]);
  return { state: 'not-fired', reason: (result?.id === request && result.message) || 'Another request replaced this one.' };
}

function read(text: string | undefined): { id?: string; message?: string } | undefined {
  try {
    return text ? (JSON.parse(text) as { id?: string; message?: string }) : undefined;
  } catch {
    return undefined; // it is not ours
  }
}
