// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** Texts that YAML reads as something else than a text, or that begin with a character that has a meaning. */
const special = /^$|^[\s\-?:,[\]{}#&*!|>'"%@`~]|^(?:true|false|null|yes|no|on|off|y|n)$|^[.+-]?\d|:\s|:$|\s#|\s$|[\p{C}]/iu;

const scalar = (value: unknown) => (typeof value === 'string' && !special.test(value) ? value : JSON.stringify(value));

/** Writes a value of JSON as YAML. Fields that are undefined are left out. */
export function toYAML(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return value.map((item) => `${indent}- ${isNested(item) ? toYAML(item, `${indent}  `).trimStart() : scalar(item)}`).join('\n');
  }
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    if (fields.length === 0) return '{}';
    return fields
      .map(([name, field]) => {
        const key = `${indent}${scalar(name)}:`;
        if (typeof field === 'string' && field.includes('\n') && block.test(field)) return `${key} ${field.endsWith('\n') ? '|' : '|-'}\n${field.replace(/\n$/, '').split('\n').map((line) => (line ? `${indent}  ${line}` : '')).join('\n')}`;
        return isNested(field) ? `${key}\n${toYAML(field, `${indent}  `)}` : `${key} ${Array.isArray(field) ? '[]' : isObject(field) ? '{}' : scalar(field)}`;
      })
      .join('\n');
  }
  return indent + scalar(value);
}

/** Texts that a literal block can contain as they are: the first line is not indented, there is one final line break at most, and everything is printable. */
const block = /^[^\s\p{C}](?:[^\p{C}]|\n(?!\n*$)|\t)*\n?$/u;

const isObject = (value: unknown) => typeof value === 'object' && value !== null;
const isNested = (value: unknown) => isObject(value) && (Array.isArray(value) ? value.length > 0 : Object.values(value as object).some((field) => field !== undefined));
