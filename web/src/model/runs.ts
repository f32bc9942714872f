// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { annotationFirstWords, annotationTitle, labelTrigger, type Chat, type Resource, type Task, type Usage, type Waiting } from '../api/types';
import { explainModel, failureLine } from './errors';
import { badgeOf, type Badge } from './tree';

/** A question or an approval that waits for a person. */
export type Ask = Waiting & { task: string };

/** A chat or a standalone task in the inbox. */
export interface Run {
  key: string;
  kind: 'chat' | 'task' | 'tool';
  namespace: string;
  name: string;
  title: string;
  /** What it is about, or what came of it. */
  text?: string;
  role?: string;
  badge: Badge | 'idle';
  /** It stands still until somebody does something. */
  stuck?: boolean;
  label?: string;
  asks: Ask[];
  created: string;
  /** When something last happened in it. */
  active: string;
  usage?: Usage;
  user?: string;
  trigger?: string;
  chat?: Chat;
  task?: Task;
}

/** The title of a chat for people: the one that a person gave it, the one that the model proposed, or its name. */
export const titleOf = ({ metadata, status }: Resource & { status?: { title?: string } }) => metadata.annotations?.[annotationTitle]?.trim() || status?.title || metadata.annotations?.[annotationFirstWords]?.trim() || metadata.name;

/** The state of a chat as one badge. */
export function standing(chat: Chat): [Badge | 'idle', string] {
  const still = chat.standstill;
  if (chat.status?.phase === 'Waiting') return ['waiting', 'Waiting for you'];
  if (still?.kind === 'Blocked') return ['failed', still.reason === 'ModelError' ? explainModel(still.message).title : still.message || still.reason];
  if (still?.kind === 'Waiting' || still?.kind === 'OverQuota') return ['pending', still.head];
  if (chat.status?.phase === 'Running') return ['running', 'Working'];
  return ['idle', 'Idle'];
}

/** When something last happened in a chat: its last message, or its creation. */
export const activeAt = ({ metadata, status }: Chat) => status?.lastMessageTime ?? metadata.creationTimestamp;

/** The order of chats in the sidebar: those that wait for a person, those that work, and then those with the newest message. */
export function chatsInOrder(chats: Chat[]): Chat[] {
  const rank = ({ status }: Chat) => (status?.phase === 'Waiting' ? 0 : status?.phase === 'Running' ? 1 : 2);
  return [...chats].sort((a, b) => rank(a) - rank(b) || activeAt(b).localeCompare(activeAt(a)) || b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp) || a.metadata.name.localeCompare(b.metadata.name));
}

function ofChat(chat: Chat): Run {
  const { name, namespace, uid, creationTimestamp } = chat.metadata;
  const [badge, label] = standing(chat);
  return {
    key: uid,
    kind: 'chat',
    namespace,
    name,
    title: titleOf(chat),
    text: badge === 'failed' ? label : undefined,
    role: chat.spec.role,
    badge,
    label: badge === 'failed' ? 'Not ready' : label,
    asks: chat.status?.phase === 'Waiting' ? (chat.status.waiting ?? []) : [],
    created: creationTimestamp,
    active: activeAt(chat),
    usage: chat.status?.usage,
    user: chat.spec.user,
    chat,
  };
}

function ofTask(task: Task): Run {
  const { name, namespace, uid, creationTimestamp, labels } = task.metadata;
  const { spec, status } = task;
  const stuck = task.standstill?.kind === 'Blocked';
  const waiting = status?.phase === 'Waiting' ? status.waiting : undefined;
  return {
    key: uid,
    kind: spec.type === 'Tool' ? 'tool' : 'task',
    namespace,
    name,
    title: task.metadata.annotations?.[annotationTitle]?.trim() || name,
    text: status?.error ? failureLine(status.error) : ((stuck && task.standstill?.message) || (status?.result?.summary || spec.instruction || spec.tool)),
    stuck,
    label: stuck ? task.standstill?.head : undefined,
    role: spec.role,
    badge: badgeOf({ name, task, children: [], depth: 1 }),
    asks: waiting ? [{ ...waiting, task: name }] : [],
    created: creationTimestamp,
    active: status?.completionTime ?? creationTimestamp,
    usage: status?.usage,
    user: spec.user,
    trigger: labels?.[labelTrigger],
    task,
  };
}

/** The runs of an inbox: those that wait for a person, the longest wait first, those that work, and then those in which something happened last. */
export function runsOf(chats: Chat[], tasks: Task[]): Run[] {
  const since = (run: Run) => run.asks.map((ask) => ask.since ?? run.created).sort()[0] ?? run.created;
  const rank = (run: Run) => (run.badge === 'waiting' ? 0 : stateOf(run) === 'active' ? 1 : 2);
  return [...chats.map(ofChat), ...tasks.map(ofTask)].sort((a, b) => {
    const order = rank(a) - rank(b) || (a.badge === 'waiting' ? since(a).localeCompare(since(b)) : b.active.localeCompare(a.active));
    return order || a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name);
  });
}

export const waitingOf = (runs: Run[]) => runs.filter((run) => run.badge === 'waiting');

export const states = ['waiting', 'active', 'done', 'failed'] as const;
export type State = (typeof states)[number];

const statesOf: Record<Run['badge'], State> = {
  waiting: 'waiting',
  pending: 'active',
  running: 'active',
  delegating: 'active',
  cancelling: 'active',
  success: 'done',
  idle: 'done',
  cancelled: 'done',
  failed: 'failed',
  timedout: 'failed',
};

export const stateOf = (run: Run): State => (run.stuck ? 'failed' : statesOf[run.badge]);

/** What of the inbox is shown. The URL contains it. */
export interface Filter {
  state?: State;
  kind?: Run['kind'];
  namespace?: string;
  search: string;
}

export function parseFilter(query: string): Filter {
  const read = new URLSearchParams(query);
  const state = states.find((known) => known === read.get('state'));
  const kind = (['chat', 'task', 'tool'] as const).find((known) => known === read.get('kind'));
  return { state, kind, namespace: read.get('in') || undefined, search: read.get('find') ?? '' };
}

export function formatFilter({ state, kind, namespace, search }: Filter): string {
  const query = new URLSearchParams();
  if (state) query.set('state', state);
  if (kind) query.set('kind', kind);
  if (namespace) query.set('in', namespace);
  if (search) query.set('find', search);
  return query.toString();
}

/** Every word of the search must occur somewhere in a run. */
export function filterRuns(runs: Run[], { state, kind, namespace, search }: Filter): Run[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return runs.filter((run) => {
    if ((state && stateOf(run) !== state) || (kind && run.kind !== kind) || (namespace && run.namespace !== namespace)) return false;
    const text = [run.title, run.name, run.namespace, run.text, run.role, run.user, run.trigger, ...run.asks.map((ask) => ask.text)].join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
