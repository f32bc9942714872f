// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Chat, Resource, Task } from '../api/types';

/** The namespaces of the inbox. */
export interface Scope {
  /** All namespaces of the cluster. */
  all?: boolean;
  namespaces?: string[];
  /** How many more namespaces the person may see than are shown. */
  omitted?: number;
}

/** A snapshot of the chats and standalone tasks that a person may see. */
export interface InboxSnapshot {
  chats: Chat[];
  tasks: Task[];
  scope?: Scope;
  /** True when everything has arrived once. */
  synced: boolean;
  /** What cannot be shown, and why. */
  problems: string[];
}

/** An event of the stream. */
interface InboxEvent {
  resource?: string;
  namespace?: string;
  type?: string;
  object?: Resource;
  status?: { message: string };
  all?: boolean;
  namespaces?: string[];
  omitted?: number;
}

interface Source {
  objects: Map<string, Resource>;
  /** A new list replaces the old one only when it is complete. */
  arriving?: Map<string, Resource>;
  synced: boolean;
  problem?: string;
}

const prefix = 'runs/';
const kinds = ['agentchats', 'agenttasks'];

/** Inbox holds the runs of a stream: one list for each kind and namespace, or for all namespaces. */
export class Inbox {
  private sources = new Map<string, Source>();
  private scope?: Scope;
  private snapshot: InboxSnapshot = { chats: [], tasks: [], synced: false, problems: [] };
  private changed = false;

  /** Handles an event, and reports whether it is one of the inbox. */
  apply(name: string, data: InboxEvent): boolean {
    if (name === 'scope') {
      this.rescope(data);
    } else if (data.resource?.startsWith(prefix)) {
      this.change(this.source(data.resource.slice(prefix.length), data.namespace), name, data);
    } else {
      return false;
    }
    this.changed = true;
    return true;
  }

  /** The snapshot, which is the same object until something changes. */
  take(): InboxSnapshot {
    if (!this.changed) return this.snapshot;
    this.changed = false;
    const all = [...this.sources];
    const of = <T extends Resource>(kind: string) => all.filter(([key]) => key.startsWith(`${kind}@`)).flatMap(([, source]) => [...source.objects.values()]) as T[];
    const tasks = of<Task>('agenttasks').filter((task) => !task.spec.chat);
    this.snapshot = {
      chats: of<Chat>('agentchats'),
      tasks,
      scope: this.scope,
      synced: this.scope !== undefined && all.every(([, { synced, problem }]) => synced || problem !== undefined),
      problems: [...new Set(all.flatMap(([, { problem }]) => problem ?? []))],
    };
    return this.snapshot;
  }

  /** Starts with other namespaces: those that stay keep their objects. */
  private rescope({ all, namespaces = [], omitted }: InboxEvent): void {
    this.scope = { all, namespaces, omitted };
    const wanted = new Set((all ? [''] : namespaces).flatMap((namespace) => kinds.map((kind) => `${kind}@${namespace}`)));
    for (const key of this.sources.keys()) if (!wanted.has(key)) this.sources.delete(key);
    for (const key of wanted) if (!this.sources.has(key)) this.sources.set(key, { objects: new Map(), synced: false });
  }

  private source(kind: string, namespace = ''): Source {
    const key = `${kind}@${namespace}`;
    const source = this.sources.get(key) ?? { objects: new Map<string, Resource>(), synced: false };
    this.sources.set(key, source);
    return source;
  }

  private change(source: Source, name: string, { type, object, status }: InboxEvent): void {
    switch (name) {
      case 'reset':
        source.arriving = new Map();
        break;
      case 'object': {
        const into = source.arriving ?? source.objects;
        if (type === 'DELETED') into.delete(object!.metadata.uid);
        else into.set(object!.metadata.uid, object!);
        source.problem = undefined;
        break;
      }
      case 'synced':
        source.objects = source.arriving ?? source.objects;
        source.arriving = undefined;
        source.synced = true;
        source.problem = undefined;
        break;
      case 'trouble':
      case 'refused':
        source.problem = status!.message;
    }
  }
}
