// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// What the compiler turns JSX into: React's own functions, but that no text reaches the page in which characters cannot be seen.
// It is done here, and not where texts are shown, because there are many such places and one that is forgotten would be enough.

import { Fragment, jsx as make, jsxs as makeOfMany } from 'react/jsx-runtime';
import { seenProps } from './seen';

export type { JSX } from 'react/jsx-runtime';
export { Fragment };

type Make = typeof make;

const safely = (of: Make): Make => (type, props, key) => of(type, seenProps(type, props as Record<string, unknown>), key);

export const jsx = safely(make);
export const jsxs = safely(makeOfMany);
