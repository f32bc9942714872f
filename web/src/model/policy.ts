// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Form } from './form';

// The condition of the starter policies on what an agent has read.
const untrusted = "!('untrusted' in labels || 'overflow' in labels)";

/** The form of a ToolPolicy. It begins with the starter policies, for one namespace. */
export const policyForm: Form = {
  resource: 'toolpolicies',
  kind: 'ToolPolicy',
  word: 'policy',
  presets: [
    {
      label: 'Writes after untrusted content need a person',
      name: 'untrusted-writes',
      spec: {
        mode: 'Audit',
        rules: [
          {
            name: 'writes-after-untrusted-content',
            allowWhen: `call.readOnly || ${untrusted}`,
            otherwise: 'RequireApproval',
            allowance: 'Exact',
            message: 'The agent has read content from outside, which may contain instructions. Is this what you want?',
          },
        ],
      },
    },
    {
      label: 'Every write needs a person',
      name: 'writes',
      spec: {
        mode: 'Audit',
        rules: [{ name: 'writes', allowWhen: 'call.readOnly', otherwise: 'RequireApproval', message: 'A person decides about everything that may change something.' }],
      },
    },
    {
      label: 'At most 50 writes of a chat or task',
      name: 'write-limit',
      spec: {
        mode: 'Audit',
        rules: [
          {
            name: 'writes-of-one-tree',
            allowWhen: 'call.readOnly || usage.writes < 50',
            otherwise: 'RequireApproval',
            message: 'The agents of this chat or task have made 50 calls that may change something. Is this what you want?',
          },
        ],
      },
    },
    {
      label: 'No remote agents after untrusted content',
      name: 'untrusted-disclosure',
      spec: {
        mode: 'Audit',
        rules: [
          {
            name: 'no-remote-agents-after-untrusted-content',
            allowWhen: `!call.target.remote || ${untrusted}`,
            message: 'The agent has read content from outside, and remote agents get nothing from it.',
          },
        ],
      },
    },
  ],
  sections: [
    {
      title: 'Calls',
      about: 'A policy restricts what roles allow. Without tools and roles, it is about every call.',
      fields: [
        { path: ['mode'], label: 'Mode', kind: 'choice', options: ['Enforce', 'Audit'], about: 'Audit records verdicts without an effect.' },
        { path: ['match', 'tools'], label: 'Tools', kind: 'lines', pick: 'tools', about: 'Or patterns, such as github__*.' },
        { path: ['match', 'roles'], label: 'Roles', kind: 'lines', pick: 'roles' },
      ],
    },
    {
      title: 'Rules',
      about: 'All rules must allow a call. Otherwise, the strictest outcome holds.',
      fields: [{ path: ['rules'], label: 'Rules', kind: 'rules' }],
    },
  ],
};

/** The fields of a rule. */
export const ruleFields: Form['sections'][number]['fields'] = [
  { path: ['name'], label: 'Name', kind: 'text' },
  { path: ['allowWhen'], label: 'Allow when', kind: 'long', rows: 2, about: 'A CEL expression over call, agent, labels, usage, workspace and now.', placeholder: "call.arguments.branch != 'main'" },
  { path: ['otherwise'], label: 'Otherwise', kind: 'choice', options: ['Deny', 'RequireApproval'] },
  { path: ['message'], label: 'Message', kind: 'text', about: 'To the person who decides, and to the agent.' },
  { path: ['allowance'], label: 'Allowance', kind: 'choice', options: ['None', 'Exact'], about: 'Exact: a person may allow the same call once and for all.' },
  { path: ['denyRequesters'], label: 'Requesters may not decide', kind: 'flag' },
];
