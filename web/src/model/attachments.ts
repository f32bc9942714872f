// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Attachment } from '../api/types';
import { bytes } from './format';

/** The limits of the API. */
export const most = 8;
export const largest = 512 * 1024;

const images = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const texts: Record<string, string> = { md: 'text/markdown', csv: 'text/csv', json: 'application/json', yaml: 'application/yaml', yml: 'application/yaml' };

/** Reports whether an attachment is an image. */
export const isImage = ({ mediaType }: { mediaType: string }) => images.includes(mediaType);

/** Returns the media type of a file in the API, or undefined if a message cannot have it. */
export function mediaTypeOf(file: { name: string; type: string }): string | undefined {
  const type = (file.type.split(';')[0] ?? '').trim().toLowerCase();
  if (images.includes(type) || type === 'application/json' || type === 'application/yaml') return type;
  const known = texts[file.name.split('.').pop()!.toLowerCase()];
  if (known) return known;
  if (/^text\/[a-z0-9.+-]+$/.test(type)) return type;
  return type === '' ? 'text/plain' : undefined;
}

/** Returns a name that no other attachment has and that the API accepts. */
export function nameOf(wanted: string, others: Attachment[]): string {
  const name = wanted.replace(/[\p{C}/`]/gu, '_').slice(-100) || 'attachment';
  const taken = new Set(others.map((other) => other.name));
  if (!taken.has(name)) return name;
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  for (let n = 2; ; n++) if (!taken.has(`${stem}-${n}${extension}`)) return `${stem}-${n}${extension}`;
}

/** The number of bytes of an attachment. */
export function sizeOf({ data = '' }: Attachment): number {
  return (data.length / 4) * 3 - (data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0);
}

/** Adds files to attachments. It returns a message for each file that cannot be added. */
export async function attach(before: Attachment[], files: readonly File[]): Promise<{ attachments: Attachment[]; problems: string[] }> {
  const attachments = [...before];
  const problems: string[] = [];
  let size = before.reduce((sum, one) => sum + sizeOf(one), 0);
  for (const file of files) {
    const mediaType = mediaTypeOf(file);
    if (!mediaType) problems.push(`${file.name} cannot be attached: attach PNG, JPEG, GIF or WebP images, or text.`);
    else if (attachments.length === most) problems.push(`${file.name} cannot be attached: a message has at most ${most} attachments.`);
    else if (file.size === 0) problems.push(`${file.name} is empty.`);
    else if (size + file.size > largest) problems.push(`${file.name} has ${bytes(file.size)}: the attachments of a message have at most ${bytes(largest)} together.`);
    else {
      attachments.push({ name: nameOf(file.name, attachments), mediaType, data: base64(new Uint8Array(await file.arrayBuffer())) });
      size += file.size;
    }
  }
  return { attachments, problems };
}

function base64(data: Uint8Array): string {
  let text = '';
  for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(text);
}
