// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Forms for the arguments of tools, from their JSON schemas. Schemas come from tool servers and may be anything.

import { exact } from './format';

/** A field of a form. */
export interface Field {
  name: string;
  /** json: a value that has no simpler field. */
  kind: 'text' | 'number' | 'boolean' | 'choice' | 'lines' | 'json';
  required: boolean;
  description?: string;
  options?: string[];
  /** The text that stands for the default of the schema. */
  initial: string;
}

type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The fields of a schema, or nothing if only JSON can express its values. */
export function fieldsOf(schema: unknown): Field[] | undefined {
  if (!isObject(schema) || ['oneOf', 'anyOf', 'allOf', '$ref', 'if', 'not'].some((keyword) => keyword in schema)) return undefined;
  const properties = schema.properties ?? {};
  if (!isObject(properties)) return undefined;
  const required = Array.isArray(schema.required) ? schema.required : [];
  const fields = Object.entries(properties).map(([name, property]) => fieldOf(name, isObject(property) ? property : {}, required.includes(name)));
  if (fields.length === 0 && schema.additionalProperties !== false && required.length > 0) return undefined;
  return fields.sort((a, b) => Number(b.required) - Number(a.required));
}

function fieldOf(name: string, property: Json, required: boolean): Field {
  const description = typeof property.description === 'string' ? property.description : undefined;
  const field = (kind: Field['kind'], initial: string, options?: string[]): Field => ({ name, kind, required, description, initial, options });
  const type = typeOf(property.type);
  const initial = property.default;
  if (Array.isArray(property.enum) && property.enum.every((value) => typeof value === 'string')) return field('choice', typeof initial === 'string' ? initial : '', property.enum as string[]);
  if ('enum' in property || 'const' in property) return field('json', initial === undefined ? '' : JSON.stringify(initial));
  switch (type) {
    case 'string':
      return field('text', typeof initial === 'string' ? initial : '');
    case 'integer':
    case 'number':
      return field('number', typeof initial === 'number' ? String(initial) : '');
    case 'boolean':
      return field('boolean', typeof initial === 'boolean' ? String(initial) : '');
    case 'array':
      if (isObject(property.items) && typeOf(property.items.type) === 'string' && !('enum' in property.items)) return field('lines', Array.isArray(initial) ? initial.join('\n') : '');
  }
  return field('json', initial === undefined ? '' : JSON.stringify(initial, null, 2));
}

/** The type of a property; a list of a type and null is that type. */
function typeOf(type: unknown): unknown {
  if (!Array.isArray(type)) return type;
  const others = type.filter((one) => one !== 'null');
  return others.length === 1 ? others[0] : undefined;
}

/** The arguments that the texts of a form stand for, or what is wrong with each text. Empty texts of optional fields are left out. */
export function argumentsOf(fields: Field[], texts: Record<string, string>): { arguments: Json; problems: Record<string, string> } {
  const found: [string, unknown][] = [];
  const problems: Record<string, string> = {};
  for (const { name, kind, required } of fields) {
    const text = texts[name] ?? '';
    if (text.trim() === '') {
      if (!required) continue;
      if (kind === 'text') found.push([name, text]);
      else if (kind === 'lines') found.push([name, []]);
      else problems[name] = 'A value is required.';
      continue;
    }
    try {
      found.push([name, valueOf(kind, text)]);
    } catch (error) {
      problems[name] = (error as Error).message;
    }
  }
  // fromEntries defines properties, so that the name __proto__ is like any other.
  return { arguments: Object.fromEntries(found), problems };
}

function valueOf(kind: Field['kind'], text: string): unknown {
  switch (kind) {
    case 'number': {
      const value = Number(text);
      if (!Number.isFinite(value)) throw new Error('This is not a number.');
      if (!exact(value)) throw new Error(rounded);
      return value;
    }
    case 'boolean':
      return text === 'true';
    case 'lines':
      return text.split('\n').filter((line) => line !== '');
    case 'json':
      return parseJson(text);
    default:
      return text;
  }
}

const rounded = 'A browser rounds integers above 9007199254740991. Use kubectl for this value.';

/** Parses JSON, and refuses numbers that would not be sent as they were typed; the error is for people. */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch {
    throw new Error('This is not JSON.');
  }
  if (!exact(value)) throw new Error(rounded);
  return value;
}

/** Parses arguments that were written as JSON. */
export function parseArguments(text: string): Json {
  const value = parseJson(text.trim() || '{}');
  if (!isObject(value)) throw new Error('The arguments must be a JSON object.');
  return value;
}
