// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { labelTrigger, type Ask, type Chat, type Resource, type RunView, type State, type Task, type Usage } from '../api/types';
import { explainModel, failureLine } from './errors';

/** A chat or a standalone task in the inbox. */
export interface Run extends RunView {
  key: string;
  kind: 'chat' | 'task' | 'tool';
  namespace: string;
  name: string;
  /** What it is about, or what came of it. */
  text?: string;
  role?: string;
  /** It waits until a person acts. */
  stuck?: boolean;
  label?: string;
  created: string;
  usage?: Usage;
  user?: string;
  trigger?: string;
}

/** The view of an object; one that was just written has none yet. */
export const viewOf = ({ metadata, run }: Resource): RunView => run ?? { title: metadata.name, badge: 'idle', state: 'done', order: [2, -Date.parse(metadata.creationTimestamp) / 1000], activeTime: metadata.creationTimestamp };

/** The state of a chat in words. */
export function standing(chat: Chat): string {
  const { waitState: still } = chat;
  switch (viewOf(chat).badge) {
    case 'waiting':
      return 'Waiting for you';
    case 'failed':
      return still!.reason === 'ModelError' ? explainModel(still!.message).title : still!.message || still!.reason;
    case 'pending':
      return still!.head;
    case 'running':
      return 'Working';
    default:
      return 'Idle';
  }
}

/** The order of the server. */
export const inOrder = <T extends Resource>(objects: T[]) =>
  [...objects].sort((a, b) => {
    const [one, other] = [viewOf(a).order, viewOf(b).order];
    return one[0] - other[0] || one[1] - other[1] || a.metadata.namespace.localeCompare(b.metadata.namespace) || a.metadata.name.localeCompare(b.metadata.name);
  });

function ofChat(chat: Chat): Run {
  const view = viewOf(chat);
  const failed = view.badge === 'failed';
  const words = standing(chat);
  return { ...view, ...ofResource(chat), kind: 'chat', text: failed ? words : undefined, role: chat.spec.role, label: failed ? 'Not ready' : words, usage: chat.status?.usage, user: chat.spec.user };
}

const ofResource = ({ metadata: { uid, namespace, name, creationTimestamp } }: Resource) => ({ key: uid, namespace, name, created: creationTimestamp });

function ofTask(task: Task): Run {
  const { metadata, spec, status, waitState } = task;
  const stuck = waitState?.kind === 'Blocked';
  return {
    ...viewOf(task),
    ...ofResource(task),
    kind: spec.type === 'Tool' ? 'tool' : 'task',
    text: status?.error ? failureLine(status.error) : (stuck && waitState.message) || status?.result?.summary || spec.instruction || spec.tool,
    stuck,
    label: stuck ? waitState.head : undefined,
    role: spec.role,
    usage: status?.usage,
    user: spec.user,
    trigger: metadata.labels?.[labelTrigger],
  };
}

/** The runs of an inbox. */
export const runsOf = (chats: Chat[], tasks: Task[]): Run[] => inOrder<Chat | Task>([...chats, ...tasks]).map((object) => ('type' in object.spec ? ofTask(object as Task) : ofChat(object as Chat)));

export const waitingOf = (runs: Run[]) => runs.filter((run) => run.badge === 'waiting');

export const states = ['waiting', 'active', 'done', 'failed'] as const satisfies State[];

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
    if ((state && run.state !== state) || (kind && run.kind !== kind) || (namespace && run.namespace !== namespace)) return false;
    const text = [run.title, run.name, run.namespace, run.text, run.role, run.user, run.trigger, ...(run.asks ?? []).map(textOf)].join('\n').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** What an ask is about, on one line. */
export const textOf = ({ question, tool, arguments: args }: Ask) => question ?? `${tool ?? ''} ${args ?? ''}`;

/** The titles that occur more than once: lists show the name beside them. */
export const repeated = (titles: string[]): ReadonlySet<string> => new Set(titles.filter((title, i) => titles.indexOf(title) !== i));
