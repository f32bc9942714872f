// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { AppliedPolicies, Catalog, Chat, Comparison, Evaluation, Message, Person, PolicyTrial, Provider, Quota, Resource, Revisions, Role, Task, ToolServer, Trigger } from './types';
import { labelChat, labelTrigger } from './types';
import type { Editable, Manifest } from '../model/form';
import type { Entry, FoundTranscript, Segment, Trace, Transcript, UsageReport, WorkspaceChanges, WorkspaceFile } from './history';

/** With a link that a command printed, with a token, or at an OpenID Connect issuer. */
export type SignInBy = Person['signIn'];

/** An error response of the server or the API server. */
export class Refusal extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    /** How to sign in, if no one is signed in. */
    readonly signIn?: SignInBy,
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

  get conflict() {
    return this.code === 409;
  }
}

/** The server cannot be reached. */
export class Unreachable extends Error {
  constructor() {
    super('The server of this page does not answer. Is it still running?');
  }
}

async function send(path: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { credentials: 'same-origin', cache: 'no-store', ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new Unreachable();
  }
}

/** Sends a request. If the ID token of the session has expired, it is refreshed once. */
export async function ask(path: string, init?: RequestInit): Promise<Response> {
  let response = await send(path, init);
  if (response.status === 401 && response.headers.get('Nestor-Sign-In') === 'oidc' && (await refreshed())) response = await send(path, init);
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Refreshes the session, in one tab at a time: an issuer that rotates refresh tokens takes a second use of one for a theft. */
async function refreshed(): Promise<boolean> {
  const refresh = () => send('/api/oidc/refresh', { method: 'POST' });
  const response = await (navigator.locks ? navigator.locks.request('nestor-session', refresh) : refresh());
  if (!response.ok && response.status !== 401) throw await refusal(response);
  return response.ok;
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
  return new Refusal(response.status, reason, message, signIn === 'link' || signIn === 'token' || signIn === 'oidc' ? signIn : undefined);
}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await ask(path, { signal })).json() as Promise<T>;
}

const post = <T>(path: string, body: unknown) => sendTo<T>('POST', path, body);
const put = <T>(path: string, body: unknown) => sendTo<T>('PUT', path, body);

async function sendTo<T>(method: string, path: string, body: unknown): Promise<T> {
  const response = await ask(path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

const nestor = (namespace: string, resource: string) => `/k8s/apis/nestor.dev/v1beta1/namespaces/${encodeURIComponent(namespace)}/${resource}`;
const history = (namespace: string, resource: string) => `/k8s/apis/history.nestor.dev/v1beta1/namespaces/${encodeURIComponent(namespace)}/${resource}`;

export const whoami = (namespace?: string) => get<Person>('/api/whoami' + (namespace ? `?namespace=${encodeURIComponent(namespace)}` : ''));
export const catalog = () => get<Catalog>('/api/catalog');
export const signIn = (token: string) => post<void>('/api/login', { token });
/** The address where a sign-in at the issuer begins, which comes back to a path. */
export const issuerSignIn = (path: string) => `/api/oidc/sign-in?${new URLSearchParams({ return: path })}`;
export const signOut = () => post<void>('/api/logout', {});

export async function namespaces(): Promise<string[]> {
  const list = await get<{ items: { metadata: { name: string } }[] }>('/k8s/api/v1/namespaces?limit=500');
  return list.items.map((item) => item.metadata.name);
}

export const listOf = async <T>(namespace: string, resource: string) => (await get<{ items: T[] }>(`${nestor(namespace, resource)}?limit=500`)).items;
/** The roles of a namespace, without the drafts that tasks try. */
export const roles = async (namespace: string) => (await listOf<Role>(namespace, 'agentroles')).filter(({ metadata }) => !metadata.ownerReferences?.some(({ kind }) => kind === 'AgentTask'));

/** An object that forms edit, as it is stored. */
type Stored = Resource & { spec: unknown };

/**
 * Creates an object, or replaces the spec that was read; a dry run only checks it. Only another spec is a conflict: what changed beside it since, its
 * status most of all, is read again and kept.
 */
export async function writeObject(namespace: string, resource: Editable, object: Manifest, stored: Stored | undefined, dryRun: boolean): Promise<Stored> {
  const query = dryRun ? '?dryRun=All' : '';
  if (!stored) return post(nestor(namespace, resource) + query, object);
  const path = `${nestor(namespace, resource)}/${encodeURIComponent(object.metadata.name)}`;
  const { uid, generation } = stored.metadata;
  for (let { metadata } = stored, left = 10; ; left--) {
    const { managedFields: _, ...kept } = metadata;
    try {
      return await put(path + query, { ...object, metadata: kept });
    } catch (error) {
      if (left === 0 || !(error instanceof Refusal && error.conflict)) throw error;
      ({ metadata } = await get<Stored>(path));
      if (metadata.uid !== uid || metadata.generation !== generation) throw error;
    }
  }
}

/** Stores a value in a new Secret. */
export const createSecret = (namespace: string, secret: { name: string; key: string; value: string }) => post<void>(`/api/namespaces/${encodeURIComponent(namespace)}/secrets`, secret);

const roleIn = (namespace: string, name: string) => `/api/namespaces/${encodeURIComponent(namespace)}/roles/${encodeURIComponent(name)}`;

/** The system prompt that an agent with a draft of a role gets. */
export const rolePrompt = (namespace: string, name: string, spec: unknown) => post<{ systemPrompt: string; fromConfigMap: boolean }>(`${roleIn(namespace, name)}/prompt`, { spec });

/** Runs a draft of a role on a task, without applying it. */
export const tryRole = (namespace: string, name: string, spec: unknown, instruction: string) => post<Task>(`${roleIn(namespace, name)}/try`, { spec, instruction });

/** The recorded revisions of a role. */
export const revisionsOf = (namespace: string, name: string) => get<Revisions>(`${roleIn(namespace, name)}/revisions`);

/** The difference of two revisions of a role, as a unified diff. */
export const diffRevisions = async (namespace: string, name: string, from: string, to: string) => (await get<{ diff: string }>(`${roleIn(namespace, name)}/revisions/diff?${new URLSearchParams({ from, to })}`)).diff;

/** Requests that new runs begin with a revision of a gated role. */
export const promoteRole = (namespace: string, name: string, revision: string) => post<void>(`${roleIn(namespace, name)}/promote`, { revision });

/** Compares two transcripts. */
export const compareRuns = (namespace: string, first: string, second: string) => get<Comparison>(`/api/namespaces/${encodeURIComponent(namespace)}/comparison?${new URLSearchParams({ first, second })}`);

const policiesIn = (namespace: string) => `/api/namespaces/${encodeURIComponent(namespace)}/policies`;

/** The policies that apply in a namespace. */
export const policiesOf = (namespace: string) => get<AppliedPolicies>(policiesIn(namespace));

/** What a draft of a policy would have done with the recorded calls of the last days. */
export const tryPolicy = (namespace: string, name: string, spec: unknown, days: number) => post<PolicyTrial>(`${policiesIn(namespace)}/${encodeURIComponent(name)}/try`, { spec, days });

/** An Event of an object. */
export interface ObjectEvent {
  type: string;
  reason: string;
  message: string;
  count: number;
  time: string;
}

/** The newest Events of the object with a UID. */
export const eventsOf = async (namespace: string, uid: string) => (await get<{ items: ObjectEvent[] }>(`/api/namespaces/${encodeURIComponent(namespace)}/events?uid=${encodeURIComponent(uid)}`)).items;

/** A schedule in words, with its next times. */
export const describeSchedule = (cron: string, timeZone: string) => get<{ words: string; next: string[] }>(`/api/schedule?${new URLSearchParams({ cron, timeZone })}`);

export const toolServers = (namespace: string) => listOf<ToolServer>(namespace, 'toolservers');
export const providers = (namespace: string) => listOf<Provider>(namespace, 'modelproviders');
export const quotas = (namespace: string) => listOf<Quota>(namespace, 'agentquotas');

export const triggers = (namespace: string) => listOf<Trigger>(namespace, 'agenttriggers');

export const evaluations = (namespace: string) => listOf<Evaluation>(namespace, 'agentevaluations');
export const evaluation = (namespace: string, name: string) => get<Evaluation>(`${nestor(namespace, 'agentevaluations')}/${encodeURIComponent(name)}`);

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

/** The trace of an agent from a segment on. */
export async function trace(namespace: string, name: string, from = 0): Promise<Segment[]> {
  const segments: Segment[] = [];
  for (let since: number | undefined = from; since !== undefined; ) {
    const page: Trace = await get(`${history(namespace, 'transcripts')}/${encodeURIComponent(name)}/trace?since=${since}`);
    segments.push(...page.segments);
    since = page.next;
  }
  return segments;
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

/** The transcripts of a namespace with an entry that contains all words. */
export async function searchTranscripts(namespace: string, words: string): Promise<FoundTranscript[]> {
  const value = words.replace(/[\\,=]/g, '\\$&');
  return (await get<{ items: FoundTranscript[] }>(`${history(namespace, 'transcripts')}?limit=20&fieldSelector=${encodeURIComponent(`search=${value}`)}`)).items;
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
