// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Badge, Display, Message, MessageDisplay, SubAgent, Task, TaskDisplay } from '../api/types';
import { transcriptOf } from '../api/history';

/** A task with its agent and the tasks that the agent delegated. */
export interface Node {
  name: string;
  task: Task;
  agent?: SubAgent;
  /** What the server computed. */
  display: TaskDisplay;
  parent?: Node;
  children: Node[];
  depth: number;
}

/** The tasks of a chat as a tree. */
export interface Tree {
  roots: Node[];
  byName: Map<string, Node>;
  /** The roots by the message that caused them; those without one, or whose message was deleted, under ''. */
  byTrigger: Map<string, Node[]>;
  /** The roots by the message below which they are displayed, or ''. */
  below: Map<string, Node[]>;
  displays: ReadonlyMap<string, Display>;
}

/** The name of a task's sub-agent: the task's own, unless another object had it. */
export function agentName(tasks: Task[], name: string): string {
  return tasks.find((task) => task.metadata.name === name)?.status?.subAgent ?? name;
}

/** The name of the transcript of a task: that of its sub-agent, or of the single call of a task of type Tool. */
export function transcriptName(tasks: Task[], name: string): string {
  const tool = tasks.find((task) => task.metadata.name === name)?.spec.type === 'Tool';
  return tool ? transcriptOf('task', name) : transcriptOf('subagent', agentName(tasks, name));
}

/** Links the tasks as the server placed them. */
export function buildTree(tasks: Task[], agents: SubAgent[], displays: ReadonlyMap<string, Display>): Tree {
  const agentOf = new Map(agents.map((agent) => [agent.metadata.uid, agent]));
  const byName = new Map<string, Node>();
  for (const task of tasks) {
    const { name, uid } = task.metadata;
    const display = displays.get(uid) as TaskDisplay | undefined;
    if (display) byName.set(name, { name, task, agent: agentOf.get(display.agent ?? ''), display, children: [], depth: 1 });
  }
  const roots: Node[] = [];
  for (const node of byName.values()) {
    node.parent = byName.get(node.display.parent ?? '');
    (node.parent?.children ?? roots).push(node);
  }
  const place = (nodes: Node[], depth: number) => {
    nodes.sort((a, b) => a.display.place - b.display.place);
    for (const node of nodes) place(node.children, (node.depth = depth) + 1);
  };
  place(roots, 1);
  return { roots, byName, byTrigger: grouped(roots, ({ trigger }) => trigger), below: grouped(roots, ({ after }) => after), displays };
}

function grouped(roots: Node[], by: (display: TaskDisplay) => string | undefined): Map<string, Node[]> {
  const groups = new Map<string, Node[]>();
  for (const root of roots) groups.set(by(root.display) ?? '', [...(groups.get(by(root.display) ?? '') ?? []), root]);
  return groups;
}

/** Every node of a tree, parents before their children. */
export function flatten(nodes: Node[]): Node[] {
  return nodes.flatMap((node) => [node, ...flatten(node.children)]);
}

/** The path from the root to a node. */
export function ancestry(node: Node): Node[] {
  return node.parent ? [...ancestry(node.parent), node] : [node];
}

export const badgeOf = (node: Node): Badge => node.display.badge;

export const finished = (node: Node) => ['success', 'failed', 'timedout', 'cancelled'].includes(badgeOf(node));

/** The duration of a task so far, in milliseconds; undefined before it starts. */
export function elapsed(node: Node, now: number): number | undefined {
  const { startTime, completionTime, durationSeconds } = node.task.status ?? {};
  if (durationSeconds !== undefined && completionTime) return durationSeconds * 1000;
  if (!startTime) return undefined;
  return Math.max(0, (completionTime ? Date.parse(completionTime) : now) - Date.parse(startTime));
}

/** The messages as the server placed them. What a person just wrote comes last; others wait for their place. */
export function inOrder(messages: Message[], displays: ReadonlyMap<string, Display>): Message[] {
  const place = ({ metadata }: Message) => displays.get(metadata.uid)?.place ?? Number.MAX_SAFE_INTEGER;
  return messages.filter(({ metadata, spec }) => displays.has(metadata.uid) || (spec.content && (spec.role ?? 'User') === 'User')).sort((a, b) => place(a) - place(b));
}

/** A request for approval of a tool call. */
export type Request = NonNullable<MessageDisplay['request']> & { message: string };

const displayOf = (message: Message, tree: Tree) => tree.displays.get(message.metadata.uid) as MessageDisplay | undefined;

/** Returns the request in a message, if it is one. */
export function requestIn(message: Message, tree: Tree): Request | undefined {
  const request = displayOf(message, tree)?.request;
  return request && { ...request, message: message.metadata.name };
}

/** Reports whether a message is shown with a request: a later part of it, or the decision. */
export const isHidden = (message: Message, tree: Tree) => Boolean(displayOf(message, tree)?.hidden);

/** Returns the question of an agent in a message, and whether it still waits for an answer. */
export function questionIn(message: Message, tree: Tree): (NonNullable<MessageDisplay['question']> & { node: Node }) | undefined {
  const question = displayOf(message, tree)?.question;
  const node = tree.byName.get(question?.task ?? '');
  return question && node && { ...question, node };
}
