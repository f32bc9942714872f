// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { annotationCall, annotationDigest, labelParent, type Badge, type Message, type SubAgent, type Task, type Usage } from '../api/types';
import { transcriptOf } from '../api/history';
import { callDigest } from './digest';

/** A task with its agent and the tasks that the agent delegated. */
export interface Node {
  name: string;
  task: Task;
  agent?: SubAgent;
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

export function buildTree(tasks: Task[], agents: SubAgent[], messages: Message[]): Tree {
  const agentOf = new Map(agents.map((agent) => [agent.metadata.ownerReferences?.find((owner) => owner.controller)?.uid ?? agent.metadata.name, agent]));
  const byName = new Map<string, Node>();
  const byAgent = new Map<string, Node>();
  for (const task of tasks) {
    const name = task.metadata.name;
    const node = { name, task, agent: agentOf.get(task.metadata.uid) ?? agentOf.get(name), children: [], depth: 1 };
    byName.set(name, node);
    byAgent.set(task.status?.subAgent ?? name, node);
  }
  const roots: Node[] = [];
  for (const node of byName.values()) {
    node.parent = byAgent.get(node.task.metadata.labels?.[labelParent] ?? '');
    (node.parent?.children ?? roots).push(node);
  }
  roots.forEach((root) => settle(root, 1));
  roots.sort(byStart);
  const known = new Set(messages.map((message) => message.metadata.name));
  const byTrigger = new Map<string, Node[]>();
  for (const root of roots) {
    const named = root.task.spec.triggerMessage ?? '';
    const trigger = known.has(named) ? named : '';
    byTrigger.set(trigger, [...(byTrigger.get(trigger) ?? []), root]);
  }
  return { roots, byName, byTrigger };
}

function settle(node: Node, depth: number): void {
  node.depth = depth;
  node.children.sort(byStart);
  node.children.forEach((child) => settle(child, depth + 1));
}

/** Sorts siblings in the order in which they were asked for. Tasks of one reply are created at once, in any order. */
function byStart(a: Node, b: Node): number {
  return (
    ordinal(a.task) - ordinal(b.task) ||
    a.task.metadata.creationTimestamp.localeCompare(b.task.metadata.creationTimestamp) ||
    a.name.localeCompare(b.name, 'en', { numeric: true })
  );
}

/** The number that the parent gave a task, which follows the parent's name. Tasks that people created have none and come last. */
function ordinal(task: Task): number {
  const parent = task.metadata.labels?.[labelParent] || task.spec.chat;
  const number = parent && task.metadata.name.startsWith(`${parent}-`) && /^\d+/.exec(task.metadata.name.slice(parent.length + 1));
  return number ? Number(number[0]) : Number.MAX_SAFE_INTEGER;
}

/** Every node of a tree, parents before their children. */
export function flatten(nodes: Node[]): Node[] {
  return nodes.flatMap((node) => [node, ...flatten(node.children)]);
}

/** The path from the root to a node. */
export function ancestry(node: Node): Node[] {
  return node.parent ? [...ancestry(node.parent), node] : [node];
}

export function badgeOf(node: Node): Badge {
  const { phase, error } = node.task.status ?? {};
  switch (phase) {
    case 'Success':
      return 'success';
    case 'Cancelled':
      return 'cancelled';
    case 'Failed':
      return error?.kind === 'TimedOut' ? 'timedout' : error?.kind === 'Cancelled' ? 'cancelled' : 'failed';
  }
  if (node.task.spec.cancel || node.agent?.status?.phase === 'Cancelling') return 'cancelling';
  if (phase === 'Waiting') return 'waiting';
  if (phase !== 'Running') return 'pending';
  return node.agent?.status?.phase === 'AwaitingSubAgents' ? 'delegating' : 'running';
}

export const finished = (node: Node) => ['success', 'failed', 'timedout', 'cancelled'].includes(badgeOf(node));

/** The duration of a task so far, in milliseconds; undefined before it starts. */
export function elapsed(node: Node, now: number): number | undefined {
  const { startTime, completionTime, durationMillis } = node.task.status ?? {};
  if (durationMillis !== undefined && completionTime) return durationMillis;
  if (!startTime) return undefined;
  return Math.max(0, (completionTime ? Date.parse(completionTime) : now) - Date.parse(startTime));
}

/** The usage of a task without that of its children. */
export function ownUsage(node: Node): Usage {
  const all = node.task.status?.usage ?? {};
  const below = node.children.map((child) => child.task.status?.usage ?? {});
  const left = (of: (usage: Usage) => number | undefined) => Math.max(0, (of(all) ?? 0) - below.reduce((sum, usage) => sum + (of(usage) ?? 0), 0));
  const priced = all.costMicros !== undefined && below.every((usage) => usage.costMicros !== undefined || !usage.modelCalls);
  return {
    promptTokens: left((usage) => usage.promptTokens),
    completionTokens: left((usage) => usage.completionTokens),
    totalTokens: left((usage) => usage.totalTokens),
    modelCalls: left((usage) => usage.modelCalls),
    ...(priced ? { costMicros: left((usage) => usage.costMicros) } : {}),
  };
}

/** The order of messages in a chat: by time, and within a second causes before effects. */
export function inOrder(messages: Message[]): Message[] {
  const rank = (message: Message) => (message.spec.role === 'Assistant' || message.spec.role === 'System' ? 1 : 0);
  return [...messages].sort(
    (a, b) =>
      a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp) ||
      rank(a) - rank(b) ||
      a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true }),
  );
}

/** A request for approval of a tool call. */
export interface Request {
  message: string;
  task: string;
  /** The sub-agent that waits, if it has another name than its task. */
  agent?: string;
  call?: string;
  tool: string;
  /** As the model wrote them; complete if whole is true. */
  arguments: string;
  /** True if the arguments match the operator's digest of the call. */
  whole: boolean;
  digest?: string;
  /** The person who decided. */
  by?: string;
  state: 'open' | 'deciding' | 'approved' | 'denied' | 'over';
  comment?: string;
  /** The decision also allows later calls. */
  allowed?: boolean;
  who: string;
}

const requestText = /^Agent (.+) asks for approval of `([^`]+)` \(task (\S+), call (\S+)\):\n([\s\S]*)$/;

/**
 * Returns the request in a message of the operator, if it is one. Only the operator can annotate a message with a call, so text of
 * a model is never mistaken for a request.
 */
export function requestIn(message: Message, tree: Tree, messages: Message[]): Request | undefined {
  const call = message.metadata.annotations?.[annotationCall];
  const match = requestText.exec(message.spec.content ?? '');
  const digest = message.metadata.annotations?.[annotationDigest];
  if (!call || !message.spec.about || message.spec.role !== 'Assistant' || !match) return undefined;
  const task = message.spec.about;
  const node = tree.byName.get(task);
  const ofTool = node?.task.spec.type === 'Tool';
  const decided = messages.findLast(
    ({ spec, status }) => spec.approval?.task === task && (ofTool || spec.approval.toolCall === call) && status?.phase !== 'Rejected',
  )?.spec;
  const decision = decided?.approval;
  // A long request is posted in parts.
  const args = match[5]! + messages.filter((other) => continues(other, message)).map((other) => other.spec.content ?? '').join('');
  return {
    message: message.metadata.name,
    task,
    ...(node?.task.status?.subAgent ? { agent: node.task.status.subAgent } : {}),
    call: ofTool ? undefined : call,
    who: match[1]!,
    tool: match[2]!,
    arguments: args,
    whole: digest === undefined || digestOf(message, match[2]!, args) === digest,
    digest,
    by: decided?.user,
    state: stateOf(node, call, ofTool, decision),
    comment: decision?.comment,
    allowed: decision?.allow !== undefined,
  };
}

/** The page renders often; the digest of a call is computed once. */
const digests = new WeakMap<Message, { args: string; digest: string }>();

function digestOf(message: Message, tool: string, args: string): string {
  const known = digests.get(message);
  if (known?.args === args) return known.digest;
  const digest = callDigest(tool, args);
  digests.set(message, { args, digest });
  return digest;
}

/** Reports whether a message is a later part of a request. */
function continues({ metadata, spec }: Message, request: Message): boolean {
  return (
    metadata.name !== request.metadata.name &&
    spec.role === 'Assistant' &&
    spec.about === request.spec.about &&
    metadata.annotations?.[annotationCall] === request.metadata.annotations?.[annotationCall] &&
    metadata.annotations?.[annotationDigest] === request.metadata.annotations?.[annotationDigest] &&
    !requestText.test(spec.content ?? '')
  );
}

/** Reports whether a message is shown with the request that it is a later part of. */
export const isPart = (message: Message, messages: Message[]) =>
  message.metadata.annotations?.[annotationDigest] !== undefined &&
  messages.some((other) => requestText.test(other.spec.content ?? '') && continues(message, other));

function stateOf(node: Node | undefined, call: string, ofTool: boolean, decision?: { decision: string }): Request['state'] {
  const phase = node?.agent?.status?.toolCalls?.find((known) => known.id === call)?.phase;
  const open = node !== undefined && (ofTool ? node.task.status?.phase === 'Waiting' : phase === 'AwaitingApproval');
  if (open) return decision ? 'deciding' : 'open';
  if (decision) return decision.decision === 'Approve' ? 'approved' : 'denied';
  // The object may lag behind the message.
  return node && !finished(node) && phase === undefined ? 'open' : 'over';
}

/** Returns the question of an agent in a message, and whether it still waits for an answer. */
export function questionIn(message: Message, tree: Tree): { node: Node; open: boolean; text: string; who: string } | undefined {
  const call = message.metadata.annotations?.[annotationCall];
  const match = /^Agent (.+?) needs input: ([\s\S]*)$/.exec(message.spec.content ?? '');
  const node = tree.byName.get(message.spec.about ?? '');
  if (!call || !node || message.spec.role !== 'Assistant' || !match) return undefined;
  const waiting = node.task.status?.waiting;
  const open = node.task.status?.phase === 'Waiting' && waiting?.kind === 'Question' && (waiting.toolCall === undefined || waiting.toolCall === call);
  return { node, open, text: match[2]!, who: match[1]! };
}
