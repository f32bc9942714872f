// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** One server-sent event. */
export interface ServerEvent {
  name: string;
  id: string;
  data: string;
}

/**
 * Reads server-sent events from chunks of text. The browser's EventSource neither reports why a request was refused
 * nor lets the page send its position.
 */
export class EventParser {
  private rest = '';
  private id = '';

  push(chunk: string): ServerEvent[] {
    this.rest += chunk;
    const blocks = this.rest.split('\n\n');
    this.rest = blocks.pop() ?? '';
    return blocks.map((block) => this.parse(block)).filter((event) => event !== undefined);
  }

  private parse(block: string): ServerEvent | undefined {
    let name = 'message';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':');
      if (colon <= 0) continue;
      const field = line.slice(0, colon);
      const value = line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') name = value;
      if (field === 'id') this.id = value;
      if (field === 'data') data.push(value);
    }
    return data.length > 0 ? { name, id: this.id, data: data.join('\n') } : undefined;
  }
}
