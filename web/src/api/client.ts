// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Catalog, Chat, Message, Person, Provider, Quota, Role, Task, ToolServer, Trigger } from './types';
import { labelChat, labelTrigger } from './types';
import type { RoleManifest } from '../model/role';
import type { Entry, Transcript, UsageReport, WorkspaceChanges, WorkspaceFile } from './history';

/** An error response of the server or the API server. */
export class Refusal extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    /** How to sign in, if no one is signed in. */
    readonly signIn?: 'link' | 'token',
  ) {
    super(message);
  }

  get signedOut() {
    return this.code === 401;
  }

  get forbidden() {
    return this.code === 403;
  }

  get notFound() {
    return this.code === 404;
  }
}

/** The server cannot be reached. */
export class Unreachable extends Error {
  constructor() {
    super('The server of this page does not answer. Is it still running?');
  }
}

export async function ask(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: 'same-origin', cache: 'no-store', ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Unreachable();
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<Refusal> {
  let reason = '';
  let message = response.statusText || `The server answered ${response.status}.`;
  try {
    const status = (await response.json()) as { reason?: string; message?: string };
    reason = status.reason ?? '';
    message = status.message ?? message;
  } catch {
    // Not every error response has a message.
  }
  const signIn = response.headers.get('Nestor-Sign-In');
  return new Refusal(response.status, reason, message, signIn === 'link' || signIn === 'token' ? signIn : undefined);
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask(path, { signal })).json() as Promise<T>;
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const response = await ask(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

const nestor = (namespace: string, resource: string) => `/k8s/apis/nestor.dev/v1beta1/namespaces/${encodeURIComponent(namespace)}/${resource}`;
const history = (namespace: string, resource: string) => `/k8s/apis/history.nestor.dev/v1beta1/namespaces/${encodeURIComponent(namespace)}/${resource}`;

export const whoami = (namespace?: string) => get<Person>('/api/whoami' + (namespace ? `?namespace=${encodeURIComponent(namespace)}` : ''));
export const catalog = () => get<Catalog>('/api/catalog');
export const signIn = (token: string) => post<void>('/api/login', { token });
export const signOut = () => post<void>('/api/logout', {});

export async function namespaces(): Promise<string[]> {
  const list = await get<{ items: { metadata: { name: string } }[] }>('/k8s/api/v1/namespaces?limit=500');
  return list.items.map((item) => item.metadata.name);
}

const list = async <T>(namespace: string, resource: string) => (await get<{ items: T[] }>(`${nestor(namespace, resource)}?limit=500`)).items;
export const roles = (namespace: string) => list<Role>(namespace, 'agentroles');
/** Creates a role, or replaces the version of it that was read. A dry run only checks it. */
export async function writeRole(namespace: string, role: RoleManifest, version: string | undefined, dryRun: boolean): Promise<Role> {
  const path = nestor(namespace, 'agentroles') + (version ? `/${encodeURIComponent(role.metadata.name)}` : '') + (dryRun ? '?dryRun=All' : '');
  const body = JSON.stringify(version ? { ...role, metadata: { ...role.metadata, resourceVersion: version } } : role);
  return (await ask(path, { method: version ? 'PUT' : 'POST', headers: { 'Content-Type': 'application/json' }, body })).json() as Promise<Role>;
}

export const toolServers = (namespace: string) => list<ToolServer>(namespace, 'toolservers');
export const providers = (namespace: string) => list<Provider>(namespace, 'modelproviders');
export const quotas = (namespace: string) => list<Quota>(namespace, 'agentquotas');

export const triggers = (namespace: string) => list<Trigger>(namespace, 'agenttriggers');

/** The objects that triggers created. */
const triggered = async <T>(namespace: string, resource: string) => (await get<{ items: T[] }>(`${nestor(namespace, resource)}?limit=500&labelSelector=${encodeURIComponent(labelTrigger)}`)).items;
export const triggerTasks = (namespace: string) => triggered<Task>(namespace, 'agenttasks');
export const triggerMessages = (namespace: string) => triggered<Message>(namespace, 'agentmessages');

/** Requests a firing of a trigger, and returns the id of the request. */
export function fireTrigger(namespace: string, name: string, input: { body?: unknown; object?: unknown }): Promise<{ id: string }> {
  return post(`${nestor(namespace, 'agenttriggers')}/${encodeURIComponent(name)}/fire`, input);
}

export const task = (namespace: string, name: string) => get<Task>(`${nestor(namespace, 'agenttasks')}/${encodeURIComponent(name)}`);

/** Creates a standalone task. */
export const createTask = (namespace: string, name: string, spec: Task['spec']): Promise<Task> => applyTask({ apiVersion: 'nestor.dev/v1beta1', kind: 'AgentTask', metadata: { name, namespace }, spec });

/** Creates a standalone task from its manifest. */
export const applyTask = (manifest: TaskManifest): Promise<Task> => post(nestor(manifest.metadata.namespace, 'agenttasks'), manifest);

export interface TaskManifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace: string; annotations?: Record<string, string> };
  spec: Task['spec'];
}

/** Creates a chat from its manifest. */
export const createChat = (chat: { metadata: { namespace: string; name: string }; spec: Chat['spec'] }): Promise<Chat> => post(nestor(chat.metadata.namespace, 'agentchats'), chat);

/** Gives a chat a title; an empty one removes it. */
export const renameChat = (namespace: string, name: string, title: string): Promise<Chat> => post(`${nestor(namespace, 'agentchats')}/${encodeURIComponent(name)}/title`, { title });

/** All entries of a transcript. */
export async function wholeTranscript(namespace: string, name: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let since: number | undefined = 0; since !== undefined; ) {
    const page: Transcript = await transcript(namespace, name, { since, limit: 200 });
    entries.push(...(page.entries ?? []));
    since = page.next;
  }
  return entries;
}

export async function deleteChat(namespace: string, name: string): Promise<void> {
  await ask(`${nestor(namespace, 'agentchats')}/${encodeURIComponent(name)}`, { method: 'DELETE' });
}

/** Creates a message in a chat, or for a standalone task: a text, a decision or a cancel, with the user who wrote it. */
export function write(namespace: string, to: string | { task: string }, user: string, spec: Omit<Message['spec'], 'chat' | 'task' | 'role' | 'user'>): Promise<Message> {
  const chat = typeof to === 'string' ? to : undefined;
  return post(nestor(namespace, 'agentmessages'), {
    apiVersion: 'nestor.dev/v1beta1',
    kind: 'AgentMessage',
    metadata: { generateName: `${typeof to === 'string' ? to : to.task}-`, namespace, ...(chat ? { labels: { [labelChat]: chat } } : {}) },
    spec: { ...(typeof to === 'string' ? { chat } : to), user, ...spec },
  });
}

/** The messages of a chat. */
export async function chatMessages(namespace: string, chat: string): Promise<Message[]> {
  return (await get<{ items: Message[] }>(`${nestor(namespace, 'agentmessages')}?limit=500&labelSelector=${encodeURIComponent(`${labelChat}=${chat}`)}`)).items;
}

export function transcript(namespace: string, name: string, page: { since?: number; limit?: number; tail?: number }, signal?: AbortSignal): Promise<Transcript> {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(page)) query.set(key, String(value));
  return get(`${history(namespace, 'transcripts')}/${encodeURIComponent(name)}?${query}`, signal);
}

/** Returns the arguments of the tool call with a digest, from the ledger. */
export async function wholeArguments(namespace: string, name: string, call: string, has: (args: string) => boolean): Promise<string> {
  for (let since: number | undefined = 0; since !== undefined; ) {
    const page: Transcript = await transcript(namespace, name, { since, limit: 200 });
    for (const entry of page.entries ?? []) {
      const args = entry.toolCalls?.find(({ id, arguments: text }) => id === call && text !== undefined && has(text))?.arguments;
      if (args !== undefined) return args;
    }
    since = page.next;
  }
  throw new Error('The history does not contain this call.');
}

/** The usage of a namespace; by=Role, period=Day and since=TIME select and divide it. */
export async function usages(namespace: string, select: Record<string, string> = {}): Promise<UsageReport[]> {
  const selector = Object.entries(select).map(([field, value]) => `${field}=${value}`).join(',');
  return (await get<{ items: UsageReport[] }>(history(namespace, 'usages') + (selector && `?fieldSelector=${encodeURIComponent(selector)}`))).items;
}

/** What was changed in a workspace; the name is chat.NAME or task.NAME. */
export const workspaceChanges = (namespace: string, name: string) => get<WorkspaceChanges>(`${history(namespace, 'workspacechanges')}/${encodeURIComponent(name)}`);

/** The current content of a file of a workspace. The path and cwd are those of a call of the agent, which is named like its transcript. */
export function workspaceFile(namespace: string, name: string, { path, cwd, agent }: { path: string; cwd?: string; agent?: string }): Promise<WorkspaceFile> {
  const query = new URLSearchParams({ path, ...(cwd ? { workingDir: cwd } : {}), ...(agent ? { agent } : {}) });
  return get(`${history(namespace, 'workspacechanges')}/${encodeURIComponent(name)}/file?${query}`);
}

/** The address of all changes of a workspace, as a file. */
export const archiveOf = (namespace: string, name: string) => `${history(namespace, 'workspacechanges')}/${encodeURIComponent(name)}/archive`;
