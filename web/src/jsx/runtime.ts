// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// The functions that JSX is compiled to: React's own, with invisible characters in texts escaped.
// Escaping happens here and not where texts are shown, because there are many such places, and a single forgotten one would suffice for an attack.

import { Fragment, jsx as make, jsxs as makeOfMany } from 'react/jsx-runtime';
import { showInvisibleProps } from './invisible';

export type { JSX } from 'react/jsx-runtime';
export { Fragment };

type Make = typeof make;

const safely = (of: Make): Make => (type, props, key) => of(type, showInvisibleProps(type, props as Record<string, unknown>), key);

export const jsx = safely(make);
export const jsxs = safely(makeOfMany);
