// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// SHA-256 as in FIPS 180-4. Browsers provide it only to pages that are served over HTTPS or from localhost.

const first = (power: number, count: number): number[] => {
  const roots: number[] = [];
  for (let n = 2; roots.length < count; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (prime) roots.push((n ** power % 1) * 2 ** 32 | 0);
  }
  return roots;
};

const start = first(1 / 2, 8);
const rounds = first(1 / 3, 64);

const turn = (x: number, by: number) => (x >>> by) | (x << (32 - by));

/** The SHA-256 of a text in UTF-8, in lower-case hex. */
export function sha256(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(((bytes.length + 8) >> 6) * 64 + 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  const hash = Int32Array.from(start);
  const w = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15]!;
      const b = w[i - 2]!;
      w[i] = (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10)) + w[i - 7]! + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[i - 16]!;
    }
    let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + rounds[i]! + w[i]!) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] = hash[i]! + word));
  }
  return Array.from(hash, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

/** The digest that identifies a tool call by its content: a decision contains it and applies only to exactly that call. */
export const callDigest = (tool: string, args: string) => sha256(`${tool}\n${args}`);
