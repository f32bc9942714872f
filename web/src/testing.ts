// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Display, Message, MessageDisplay, RunView, WaitState, SubAgent, Task, TaskDisplay, Trigger } from './api/types';
import type { Entry } from './api/history';
import { annotationCall, labelParent } from './api/types';
import { buildTree, type Tree } from './model/tree';

// Builders for tests: each object has only the fields that a test needs.

export function aTask(name: string, task: { spec?: Partial<Task['spec']>; status?: Task['status']; parent?: string; created?: string; waitState?: WaitState; run?: Partial<RunView> } = {}): Task {
  return {
    run: aRun({ title: name, ...task.run }),
    waitState: task.waitState,
    metadata: { name, namespace: 'default', uid: `${name}-uid`, creationTimestamp: task.created ?? '2026-01-01T00:00:00Z', labels: task.parent ? { [labelParent]: task.parent } : {} },
    spec: { type: 'Agent', role: 'coder', ...task.spec },
    status: task.status,
  };
}

export const aRun = (run: Partial<RunView> = {}): RunView => ({ title: 'run', badge: 'pending', state: 'active', order: [1, 0], activeTime: '2026-01-01T00:00:00Z', ...run });

export const aWaitState = (kind: WaitState['kind'], reason: string, message = 'Words.'): WaitState => ({ kind, head: kind === 'Blocked' ? 'Cannot start' : kind, reason, message });

export function anAgent(name: string, status: SubAgent['status'], role = 'coder'): SubAgent {
  return { metadata: { name, namespace: 'default', uid: `${name}-agent`, creationTimestamp: '2026-01-01T00:00:00Z' }, spec: { task: name, role, depth: 1 }, status };
}

export function aMessage(name: string, spec: Message['spec'], more: { call?: string; created?: string; status?: Message['status'] } = {}): Message {
  return {
    metadata: { name, namespace: 'default', uid: `${name}-uid`, creationTimestamp: more.created ?? '2026-01-01T00:00:00Z', annotations: more.call ? { [annotationCall]: more.call } : {} },
    spec: { chat: 'chat', ...spec },
    status: more.status,
  };
}

export function aTrigger(name: string, status: Trigger['status'] = {}, annotations: Record<string, string> = {}, spec: Partial<Trigger['spec']> = {}): Trigger {
  return { metadata: { name, namespace: 'default', uid: `${name}-uid`, creationTimestamp: '2026-01-01T00:00:00Z', annotations }, spec: { schedule: { cron: '@daily' }, task: { role: 'coder' }, ...spec }, status };
}

/** A tree of tasks as the server places them: in the given order, each with the agent of its name. */
export function aTree(tasks: Task[], agents: SubAgent[] = [], displays: Record<string, Partial<TaskDisplay> | MessageDisplay> = {}): Tree {
  const places = tasks.map((task, place): [string, Display] => {
    const agent = agents.find(({ metadata }) => metadata.name === task.metadata.name)?.metadata.uid;
    return [task.metadata.uid, { badge: 'pending', place, parent: task.metadata.labels?.[labelParent], agent, own: {}, ...displays[task.metadata.name] }];
  });
  const others = Object.entries(displays).filter((entry): entry is [string, MessageDisplay] => !tasks.some(({ metadata }) => metadata.name === entry[0])).map(([name, display]): [string, Display] => [`${name}-uid`, display]);
  return buildTree(tasks, agents, new Map([...places, ...others]));
}

export function anEntry(seq: number, entry: Partial<Entry>): Entry {
  return { seq, time: '2026-01-01T00:00:00Z', kind: 'Assistant', ...entry };
}
