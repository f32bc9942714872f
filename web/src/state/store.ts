// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { ServerEvent } from '../api/sse';
import { Stream, type Connection, type Wanted } from '../api/stream';
import type { Entry } from '../api/history';
import type { Chat, Display, Message, Resource, RunView, WaitState, SubAgent, Task } from '../api/types';
import { Inbox, type InboxSnapshot } from './inbox';
import { emptyTranscript, addEntries, prependOlder, rejoin, type TranscriptState } from '../model/transcript';

export type Kind = 'agentchats' | 'agentmessages' | 'agenttasks' | 'subagents';

interface Objects {
  agentchats: Chat;
  agentmessages: Message;
  agenttasks: Task;
  subagents: SubAgent;
}

/** Why a source currently sends nothing. */
export interface Problem {
  code: number;
  message: string;
  /** It will not be retried. */
  final: boolean;
}

/** A snapshot of the page's data. */
export interface Snapshot {
  chats: Chat[];
  messages: Message[];
  tasks: Task[];
  agents: SubAgent[];
  /** How the tasks and messages are displayed, by UID. */
  displays: ReadonlyMap<string, Display>;
  /** What has all arrived. */
  synced: ReadonlySet<Kind | 'displays'>;
  problems: ReadonlyMap<string, Problem>;
  transcripts: ReadonlyMap<string, TranscriptState>;
  connection: Connection;
  /** The chats and standalone tasks of all namespaces. */
  inbox: InboxSnapshot;
}

/** Changes are batched: a burst of events renders once. */
const batch = 40;

/** Store holds the objects from the stream and notifies its subscribers of changes. */
export class Store {
  private objects: { [K in Kind]: Map<string, Objects[K]> } = { agentchats: new Map(), agentmessages: new Map(), agenttasks: new Map(), subagents: new Map() };
  /** A new list replaces the old one only when it is complete. */
  private arriving = new Map<Kind, Map<string, Resource>>();
  private displays: ReadonlyMap<string, Display> = new Map();
  private arrived = new Map<string, Display>();
  private synced = new Set<Kind | 'displays'>();
  private problems = new Map<string, Problem>();
  private transcripts = new Map<string, TranscriptState>();
  private connection: Connection = { state: 'connecting' };
  private readonly inbox = new Inbox();
  private want?: Wanted;
  private watchers = new Set<() => void>();
  private timer?: ReturnType<typeof setTimeout>;
  private snapshot: Snapshot = this.take();
  private readonly stream = new Stream(
    (event) => this.handle(event),
    (connection) => this.connected(connection),
  );

  readonly subscribe = (watcher: () => void) => {
    this.watchers.add(watcher);
    return () => void this.watchers.delete(watcher);
  };

  readonly read = () => this.snapshot;

  listen(want: Wanted): void {
    if (JSON.stringify(want) === JSON.stringify(this.want)) return;
    this.forget(want);
    this.want = want;
    this.stream.listen(want);
    this.show();
  }

  stop(): void {
    this.want = undefined;
    this.stream.stop();
  }

  /** Adds an object that was just written, before it arrives on the stream. */
  put<K extends Kind>(kind: K, object: Objects[K]): void {
    if (this.objects[kind].has(object.metadata.uid) || !this.wants(kind, object)) return;
    this.objects[kind].set(object.metadata.uid, object);
    this.show();
  }

  /** Reports whether an object belongs to what is subscribed to: an inbox writes to other chats and namespaces, too. */
  private wants(kind: Kind, object: Resource): boolean {
    if (object.metadata.namespace !== this.want?.namespace) return false;
    return kind !== 'agentmessages' || (object as Message).spec.chat === this.want.chat;
  }

  /** Adds older entries of a transcript. */
  prependOlder(name: string, older: Entry[], complete: boolean): void {
    this.transcripts.set(name, prependOlder(this.transcripts.get(name) ?? emptyTranscript, older, complete));
    this.show();
  }

  private forget(want: Wanted): void {
    const before = this.want;
    const moved = before?.namespace !== want.namespace;
    if (moved) this.clear('agentchats');
    if (moved || before?.chat !== want.chat || before?.task !== want.task) {
      for (const kind of ['agentmessages', 'agenttasks', 'subagents'] as const) this.clear(kind);
      this.displays = new Map();
      this.arrived.clear();
      this.synced.delete('displays');
    }
    const wanted = new Set(want.transcripts.map(({ name }) => name));
    for (const name of this.transcripts.keys()) {
      if (moved || !wanted.has(name)) {
        this.transcripts.delete(name);
        this.problems.delete(name);
      }
    }
  }

  private clear(kind: Kind): void {
    this.objects[kind].clear();
    this.arriving.delete(kind);
    this.synced.delete(kind);
    this.problems.delete(kind);
  }

  private handle(event: ServerEvent): void {
    const data = JSON.parse(event.data) as {
      resource?: Kind;
      transcript?: string;
      type?: string;
      object?: Resource;
      uid?: string;
      display?: Display;
      run?: RunView;
      waitState?: WaitState;
      entries?: Entry[];
      status?: { code: number; message: string };
    };
    if (data.object) Object.assign(data.object, { run: data.run, waitState: data.waitState });
    const source = data.resource ?? data.transcript ?? '';
    if (this.inbox.apply(event.name, data)) {
      this.show();
      return;
    }
    switch (event.name) {
      case 'reset':
        this.arriving.set(data.resource!, new Map());
        break;
      case 'object':
        this.object(data.resource!, data.type!, data.object!);
        break;
      case 'display':
        this.arrived.set(data.uid!, data.display!);
        break;
      case 'synced':
        this.sync(data.resource!);
        break;
      case 'transcript':
        this.problems.delete(source);
        this.transcripts.set(source, addEntries(this.transcripts.get(source) ?? emptyTranscript, data.entries!));
        break;
      case 'ended':
        this.transcripts.set(source, { ...(this.transcripts.get(source) ?? emptyTranscript), ended: true, streaming: undefined });
        break;
      case 'absent':
        this.transcripts.set(source, { ...(this.transcripts.get(source) ?? emptyTranscript), absent: true });
        break;
      case 'trouble':
      case 'refused':
        this.problems.set(source, { code: data.status!.code, message: data.status!.message, final: event.name === 'refused' });
        break;
      default:
        return; // a ping, or an event of a later version
    }
    this.show();
  }

  private object(kind: Kind, type: string, object: Resource): void {
    const into = (this.arriving.get(kind) ?? this.objects[kind]) as Map<string, Resource>;
    const known = type === 'KNOWN' ? this.objects[kind].get(object.metadata.uid) : object;
    if (type === 'DELETED' || !known) into.delete(object.metadata.uid);
    else into.set(object.metadata.uid, known);
    this.problems.delete(kind);
  }

  private sync(kind: Kind | 'displays'): void {
    this.synced.add(kind);
    if (kind === 'displays') return;
    const arrived = this.arriving.get(kind);
    if (arrived) (this.objects[kind] as Map<string, Resource>) = arrived;
    this.arriving.delete(kind);
    this.problems.delete(kind);
  }

  private connected(connection: Connection): void {
    this.connection = connection;
    if (connection.state === 'live') for (const [name, state] of this.transcripts) this.transcripts.set(name, rejoin(state));
    this.show();
  }

  private show(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.snapshot = this.take();
      this.watchers.forEach((watcher) => watcher());
    }, batch);
  }

  private take(): Snapshot {
    const before = this.snapshot;
    if (this.arrived.size > 0) this.displays = new Map([...this.displays, ...this.arrived]);
    this.arrived.clear();
    return {
      displays: this.displays,
      chats: same(before?.chats, [...this.objects.agentchats.values()]),
      messages: same(before?.messages, [...this.objects.agentmessages.values()]),
      tasks: same(before?.tasks, [...this.objects.agenttasks.values()]),
      agents: same(before?.agents, [...this.objects.subagents.values()]),
      synced: new Set(this.synced),
      problems: new Map(this.problems),
      transcripts: new Map(this.transcripts),
      connection: this.connection,
      inbox: this.inbox.take(),
    };
  }
}

/** Returns the old list if nothing in it has changed, so that derived values are not computed again. */
function same<T>(before: T[] | undefined, now: T[]): T[] {
  return before && before.length === now.length && before.every((item, i) => item === now[i]) ? before : now;
}
