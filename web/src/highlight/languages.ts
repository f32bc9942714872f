// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// The languages of code blocks. They are a file of their own, which a browser loads with the first code block.

import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import dockerfile from 'highlight.js/lib/languages/dockerfile';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import makefile from 'highlight.js/lib/languages/makefile';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import shell from 'highlight.js/lib/languages/shell';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { createLowlight } from 'lowlight';

const known = createLowlight({ bash, c, cpp, css, diff, dockerfile, go, ini, java, javascript, json, makefile, markdown, python, ruby, rust, shell, sql, typescript, xml, yaml });

/** A piece of code: text, or pieces with a class. */
export type Piece = string | { className: string; pieces: Piece[] };

type Tree = ReturnType<typeof known.highlight>['children'][number];

/** Returns the pieces of a text in a language, or undefined if the language is unknown. */
export function highlight(text: string, language: string): Piece[] | undefined {
  if (!known.registered(language)) return undefined;
  return known.highlight(language, text).children.flatMap(pieceOf);
}

function pieceOf(node: Tree): Piece[] {
  if (node.type === 'text') return [node.value];
  if (node.type !== 'element') return [];
  const { className } = node.properties;
  return [{ className: Array.isArray(className) ? className.join(' ') : '', pieces: node.children.flatMap(pieceOf) }];
}
