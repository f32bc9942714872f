// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// The same as runtime.ts, with the source positions that React needs for development messages.

import { Fragment, jsxDEV as make } from 'react/jsx-dev-runtime';
import { showInvisibleProps } from './invisible';

export type { JSX } from 'react/jsx-dev-runtime';
export { Fragment };

export const jsxDEV: typeof make = (type, props, ...rest) => make(type, showInvisibleProps(type, props as Record<string, unknown>), ...rest);
