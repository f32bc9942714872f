// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { resolve } from 'node:path';

type Answer = Record<string, string>;

/** The real stack: test/web, a program of this repository. */
export class Stack {
  private waiting: ((answer: Answer) => void)[] = [];
  private last: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly process: ChildProcess,
    lines: Interface,
  ) {
    lines.on('line', (line) => this.waiting.shift()?.(JSON.parse(line) as Answer));
    process.on('exit', (code) => {
      for (const wake of this.waiting.splice(0)) wake({ error: `the stack ended with ${code}` });
    });
  }

  /** With --issuer in its arguments, it has an OpenID Connect issuer. */
  static async start(...args: string[]): Promise<Stack> {
    const program = process.env.NESTOR_STACK ?? resolve(import.meta.dirname, '../../bin/web-stack');
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const stack = new Stack(child, createInterface({ input: child.stdout! }));
    const ready = await new Promise<Answer>((wake) => stack.waiting.push(wake));
    if (ready.error) throw new Error(ready.error);
    return stack;
  }

  /** Commands are answered in order, one at a time. */
  private command(line: string): Promise<Answer> {
    const answered = this.last.then(
      () =>
        new Promise<Answer>((wake, fail) => {
          this.waiting.push((answer) => (answer.error ? fail(new Error(answer.error)) : wake(answer)));
          this.process.stdin!.write(`${line}\n`);
        }),
    );
    this.last = answered.catch(() => undefined);
    return answered;
  }

  /** A page as somebody: a link that works once. */
  async open(user: string, namespace: string): Promise<string> {
    return (await this.command(`open ${user} ${namespace}`)).link!;
  }

  async tokens(): Promise<{ url: string; token: string }> {
    const { url, token } = await this.command('tokens');
    return { url: url!, token: token! };
  }

  /** A page with sign-in at the issuer. */
  async oidc(): Promise<string> {
    return (await this.command('oidc')).url!;
  }

  /** A chat with an agent that has said and heard 10,000 messages. */
  async long(namespace: string, chat: string): Promise<void> {
    await this.command(`long ${namespace} ${chat}`);
  }

  /** Creates an object of nestor.dev as somebody. Runs of spaces in its texts become one space. */
  async create(user: string, kind: string, namespace: string, name: string, spec: unknown, labels: Record<string, string> = {}): Promise<void> {
    await this.command(`create ${user} ${JSON.stringify({ apiVersion: 'nestor.dev/v1beta1', kind, metadata: { namespace, name, labels }, spec })}`);
  }

  async operator(what: 'down' | 'up' | 'restart'): Promise<void> {
    await this.command(what);
  }

  /** Breaks or mends a part: the ledger or the model, which also can be held in the middle of its replies; or creates a quota that is used up in a namespace. */
  async fault(part: 'ledger' | 'model' | 'quota', what: string): Promise<void> {
    await this.command(`${part} ${what}`);
  }

  async close(): Promise<void> {
    const ended = new Promise((wake) => this.process.once('exit', wake));
    this.process.stdin!.end();
    await ended;
  }
}
