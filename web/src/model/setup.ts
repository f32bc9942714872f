// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// The forms of the kinds that people set up. Fields that a form does not show are kept as they are.

import { type Form, type Spec, type Variant, variantOf } from './form';

export const roleForm: Form = {
  resource: 'agentroles',
  kind: 'AgentRole',
  word: 'role',
  sections: [
    {
      title: 'What it is',
      fields: [
        { path: ['displayName'], label: 'Display name', kind: 'text' },
        { path: ['description'], label: 'Description', kind: 'text', about: 'Agents that may delegate to the role read it.' },
        { path: ['systemPrompt'], label: 'System prompt', kind: 'long' },
      ],
    },
    {
      title: 'Model',
      fields: [
        { path: ['modelProvider'], label: 'Provider', kind: 'text', pick: 'providers', placeholder: 'that of the chat or parent, or default' },
        { path: ['model'], label: 'Model', kind: 'text', placeholder: 'that of the chat or parent, or of the provider' },
        { path: ['reasoningEffort'], label: 'Reasoning effort', kind: 'choice', options: ['None', 'Low', 'Medium', 'High'] },
        { path: ['temperature'], label: 'Temperature', kind: 'text', about: 'From 0 to 2.' },
        { path: ['maxOutputTokens'], label: 'Tokens of a reply', kind: 'number' },
      ],
    },
    {
      title: 'Tools and delegation',
      fields: [
        { path: ['tools', 'allow'], label: 'Tools', kind: 'lines', pick: 'tools', about: 'Or patterns, such as notes__*. If empty, the built-in tools.' },
        { path: ['tools', 'deny'], label: 'Except', kind: 'lines', pick: 'tools' },
        { path: ['approval', 'mode'], label: 'Approval', kind: 'choice', options: ['WriteTools', 'Always', 'Never'], placeholder: 'WriteTools' },
        { path: ['approval', 'denyRequesters'], label: 'Requesters may not decide', kind: 'flag' },
        { path: ['approval', 'editable'], label: 'People may change arguments', kind: 'flag' },
        { path: ['delegation', 'roles'], label: 'Delegates to', kind: 'lines', pick: 'roles', about: 'If empty, it may not delegate.' },
      ],
    },
    {
      title: 'Limits of each agent',
      fields: [
        { path: ['limits', 'maxIterations'], label: 'Iterations', kind: 'number' },
        { path: ['limits', 'maxDurationSeconds'], label: 'Seconds', kind: 'number' },
        { path: ['limits', 'maxTotalTokens'], label: 'Tokens', kind: 'number' },
        { path: ['limits', 'maxCostMicros'], label: 'Cost in the currency of the provider', kind: 'money' },
      ],
    },
  ],
};

/** The settings of a chat. Its workspace cannot change once it is set. */
export const chatForm: Form = {
  resource: 'agentchats',
  kind: 'AgentChat',
  word: 'chat',
  sections: [
    {
      title: 'Who answers',
      about: 'A change takes effect with the next turn.',
      fields: [
        { path: ['role'], label: 'Role', kind: 'text', pick: 'roles' },
        { path: ['modelProvider'], label: 'Provider', kind: 'text', pick: 'providers', placeholder: 'that of the role, or default' },
        { path: ['model'], label: 'Model', kind: 'text', placeholder: 'that of the provider' },
      ],
    },
    {
      title: 'Limits of the chat',
      about: 'Of the chat and all its agents. 0 is no limit.',
      fields: [
        { path: ['limits', 'maxTotalTokens'], label: 'Tokens', kind: 'number' },
        { path: ['limits', 'maxCostMicros'], label: 'Cost in the currency of the provider', kind: 'money' },
        { path: ['limits', 'maxParallelTasks'], label: 'Agents at the same time', kind: 'number' },
        { path: ['limits', 'maxDepth'], label: 'Levels of agents', kind: 'number' },
      ],
    },
    {
      title: 'Limits after each message of a person',
      about: 'The chat then pauses until the next message. 0 is no limit.',
      fields: [
        { path: ['limits', 'maxTurnsPerMessage'], label: 'Turns', kind: 'number' },
        { path: ['limits', 'maxTasksPerMessage'], label: 'Tasks', kind: 'number' },
        { path: ['limits', 'maxTokensPerMessage'], label: 'Tokens', kind: 'number' },
      ],
    },
    {
      title: 'Notifications',
      about: 'When a person has to decide, and when a turn ends, without arguments and texts of models.',
      fields: [{ path: ['notify'], label: 'Receivers', kind: 'receivers' }],
    },
    {
      title: 'Questions of agents',
      about: 'The orchestrator may answer them from the conversation.',
      fields: [
        { path: ['autoAnswer', 'minConfidence'], label: 'Confidence that it needs, from 0 to 100', kind: 'number' },
        { path: ['autoAnswer', 'maxPerQuestion'], label: 'Answers to the same question', kind: 'number', about: '0: every question goes to a person.' },
      ],
    },
  ],
};

const workspaceSection = {
  title: 'Workspace',
  about: 'Files that the agents work on. It cannot change once it is set.',
  fields: [
    { path: ['workspace', 'git', 'url'], label: 'Git repository', kind: 'text' as const, placeholder: 'https://git.example.com/team/app.git' },
    { path: ['workspace', 'git', 'ref'], label: 'Branch, tag or commit', kind: 'text' as const, placeholder: 'the default branch' },
  ],
};

/** The form of a chat without a workspace, which can get one. */
export const chatFormWithWorkspace: Form = { ...chatForm, sections: [...chatForm.sections, workspaceSection] };

const key = (name: string) => ({ apiKeyRef: { name, key: 'api-key' } });

export const providerForm: Form = {
  resource: 'modelproviders',
  kind: 'ModelProvider',
  word: 'model provider',
  presets: [
    { label: 'OpenAI', name: 'default', spec: { api: 'OpenAIResponses', baseURL: 'https://api.openai.com/v1', ...key('openai') } },
    { label: 'Anthropic', name: 'default', spec: { api: 'Anthropic', ...key('anthropic') } },
    { label: 'Google Gemini', name: 'default', spec: { api: 'Gemini', ...key('gemini') } },
    {
      label: 'Amazon Bedrock',
      name: 'default',
      spec: {
        api: 'Bedrock',
        aws: { region: 'eu-central-1', accessKey: { idRef: { name: 'aws-key-id', key: 'value' }, secretRef: { name: 'aws-secret-key', key: 'value' } } },
      },
    },
    {
      label: 'Google Vertex AI',
      name: 'default',
      spec: { api: 'Vertex', googleCloud: { project: 'my-project', location: 'global', serviceAccountKeyRef: { name: 'vertex', key: 'key.json' } } },
    },
    { label: 'Ollama', name: 'default', about: 'In the cluster, without a key', spec: { api: 'OpenAI', baseURL: 'http://ollama.default.svc:11434/v1' } },
    { label: 'vLLM or another server with the OpenAI API', name: 'default', spec: { api: 'OpenAI', baseURL: 'http://vllm.default.svc:8000/v1' } },
  ],
  sections: [
    {
      title: 'Endpoint',
      about: 'Chats, roles and tasks that name no provider use the one called default.',
      fields: [
        { path: ['api'], label: 'API', kind: 'choice', options: ['OpenAI', 'OpenAIResponses', 'Anthropic', 'Gemini', 'Bedrock', 'Vertex'], placeholder: 'OpenAI' },
        { path: ['baseURL'], label: 'Base URL', kind: 'text', about: 'Anthropic, Gemini, Bedrock and Vertex have one of their own.' },
        { path: ['apiKeyRef'], label: 'API key', kind: 'secret', about: 'In a Secret of this namespace. The operator reads it for each request.' },
      ],
    },
    {
      title: 'Amazon Bedrock',
      about: 'With an access key, or with an API key of Bedrock above.',
      when: ({ api }) => api === 'Bedrock',
      fields: [
        { path: ['aws', 'region'], label: 'Region', kind: 'text', placeholder: 'eu-central-1' },
        { path: ['aws', 'accessKey', 'idRef'], label: 'Access key ID', kind: 'secret' },
        { path: ['aws', 'accessKey', 'secretRef'], label: 'Secret access key', kind: 'secret' },
        { path: ['aws', 'assumeRole', 'roleARN'], label: 'Role to assume', kind: 'text' },
      ],
    },
    {
      title: 'Google Vertex AI',
      when: ({ api }) => api === 'Vertex',
      fields: [
        { path: ['googleCloud', 'project'], label: 'Project', kind: 'text' },
        { path: ['googleCloud', 'location'], label: 'Location', kind: 'text', placeholder: 'global' },
        { path: ['googleCloud', 'serviceAccountKeyRef'], label: 'Service account key', kind: 'secret', about: 'The JSON file of the key.' },
      ],
    },
    {
      title: 'Models and prices',
      fields: [
        { path: ['defaultModel'], label: 'Default model', kind: 'text', about: 'The name as the vendor writes it, for chats and roles that name none.' },
        { path: ['currency'], label: 'Currency', kind: 'text', placeholder: 'USD' },
        { path: ['models'], label: 'Prices', kind: 'models', about: 'For a million tokens, of input and of output. A name may be the beginning of several names. Without a price, the cost is unknown.' },
      ],
    },
    {
      title: 'Limits',
      fields: [
        { path: ['maxConcurrentRequests'], label: 'Requests in flight', kind: 'number', placeholder: '64' },
        { path: ['maxRequestsPerMinute'], label: 'Requests per minute', kind: 'number' },
        { path: ['maxTokensPerMinute'], label: 'Tokens per minute', kind: 'number' },
        { path: ['fallbacks'], label: 'Fallbacks', kind: 'lines', pick: 'providers', about: 'Providers that are used in this order when this one fails.' },
      ],
    },
  ],
};

export const toolServerForm: Form = {
  resource: 'toolservers',
  kind: 'ToolServer',
  word: 'tool server',
  sections: [
    {
      title: 'MCP server',
      about: 'Its tools are called NAME__TOOL. They are pinned when the operator first reads them.',
      fields: [
        { path: ['url'], label: 'URL', kind: 'text', placeholder: 'https://mcp.example.com/mcp' },
        { path: ['transport'], label: 'Transport', kind: 'choice', options: ['StreamableHTTP', 'SSE'], placeholder: 'StreamableHTTP' },
        { path: ['timeoutSeconds'], label: 'Seconds for a call', kind: 'number', placeholder: '60' },
      ],
    },
    {
      title: 'Authentication',
      about: 'A header from a Secret, or an OAuth client. Leave both empty for a server without authentication.',
      fields: [
        { path: ['headersFrom', '0', 'name'], label: 'Header', kind: 'text', placeholder: 'Authorization' },
        { path: ['headersFrom', '0', 'secretKeyRef'], label: 'Value of the header', kind: 'secret', about: 'For Authorization with a token: Bearer, a space and the token.' },
        { path: ['auth', 'oauth', 'tokenURL'], label: 'OAuth token URL', kind: 'text' },
        { path: ['auth', 'oauth', 'clientID'], label: 'OAuth client', kind: 'text' },
        { path: ['auth', 'oauth', 'clientSecretKeyRef'], label: 'OAuth client secret', kind: 'secret' },
        { path: ['auth', 'oauth', 'scopes'], label: 'OAuth scopes', kind: 'lines' },
      ],
    },
    {
      title: 'Tools',
      fields: [
        { path: ['readOnlyTools'], label: 'Read-only tools', kind: 'lines', about: 'Tools that need no approval although the server does not mark them, one per line, without the prefix.' },
        { path: ['acceptedToolsDigest'], label: 'Accepted tools', kind: 'text', when: (_, isNew) => !isNew, about: 'The digest of a changed list of tools that you have read and accept.' },
      ],
    },
  ],
};

/** What starts a trigger. */
const sources: Variant[] = [
  { member: 'schedule', label: 'On a schedule', begin: { cron: '0 7 * * 1-5' } },
  { member: 'webhook', label: 'For a webhook', begin: { format: 'Generic', secretKeyRef: { name: 'webhook', key: 'token' } } },
  { member: 'watch', label: 'When an object changes', begin: { apiVersion: 'v1', kind: 'Pod', when: "object.status.phase == 'Failed'" } },
];

/** What a trigger does. */
const work: Variant[] = [
  { member: 'task', label: 'A task of a role', begin: { role: 'general' } },
  { member: 'message', label: 'A message to a chat', begin: {} },
];

const has = (variants: Variant[], member: string) => (spec: Spec) => variantOf(variants, spec).member === member;

export const triggerForm: Form = {
  resource: 'agenttriggers',
  kind: 'AgentTrigger',
  word: 'trigger',
  requester: true,
  begin: { schedule: sources[0]!.begin, task: work[0]!.begin },
  sections: [
    {
      title: 'Start',
      oneOf: sources,
      fields: [
        { path: ['schedule', 'cron'], label: 'Cron', kind: 'text', when: has(sources, 'schedule'), about: 'Minute, hour, day of the month, month, day of the week.' },
        { path: ['schedule', 'timeZone'], label: 'Time zone', kind: 'text', when: has(sources, 'schedule'), placeholder: 'UTC' },
        { path: ['webhook', 'format'], label: 'Format', kind: 'choice', when: has(sources, 'webhook'), options: ['Generic', 'GitHub', 'Alertmanager', 'CloudEvents'], placeholder: 'Generic' },
        { path: ['webhook', 'secretKeyRef'], label: 'Token of the requests', kind: 'secret', when: has(sources, 'webhook'), about: 'For GitHub, the key of the signature.' },
        { path: ['webhook', 'when'], label: 'Only when', kind: 'text', when: has(sources, 'webhook'), about: 'A CEL expression over body and headers.' },
        { path: ['watch', 'apiVersion'], label: 'API version', kind: 'text', when: has(sources, 'watch') },
        { path: ['watch', 'kind'], label: 'Kind', kind: 'text', when: has(sources, 'watch') },
        { path: ['watch', 'when'], label: 'Fires when', kind: 'text', when: has(sources, 'watch'), about: 'A CEL expression over object and oldObject.' },
      ],
    },
    {
      title: 'Work',
      about: 'What each firing starts. Texts may contain {{ CEL }}.',
      oneOf: work,
      fields: [
        { path: ['task', 'role'], label: 'Role of the task', kind: 'text', when: has(work, 'task'), pick: 'roles', placeholder: 'Choose…' },
        { path: ['task', 'instruction'], label: 'Instruction', kind: 'long', when: has(work, 'task') },
        { path: ['task', 'modelProvider'], label: 'Provider', kind: 'text', when: has(work, 'task'), pick: 'providers', placeholder: 'that of the role, or default' },
        { path: ['message', 'chat'], label: 'Chat of the message', kind: 'text', when: has(work, 'message'), pick: 'chats', placeholder: 'Choose…' },
        { path: ['message', 'content'], label: 'Message', kind: 'long', when: has(work, 'message') },
        { path: ['concurrencyPolicy'], label: 'While earlier work is active', kind: 'choice', options: ['Allow', 'Forbid', 'Replace'], placeholder: 'Allow' },
        { path: ['suspend'], label: 'Suspended', kind: 'flag' },
      ],
    },
    {
      title: 'Notifications',
      about: 'Of the tasks that it starts.',
      fields: [{ path: ['notify'], label: 'Receivers', kind: 'receivers' }],
    },
  ],
};

export const quotaForm: Form = {
  resource: 'agentquotas',
  kind: 'AgentQuota',
  word: 'quota',
  sections: [
    {
      title: 'Limits of this namespace',
      about: 'Runs that reach a limit wait until the period ends; they do not fail.',
      fields: [
        { path: ['period'], label: 'Period', kind: 'choice', required: true, options: ['Hour', 'Day', 'Month'] },
        { path: ['maxTokens'], label: 'Tokens', kind: 'number' },
        { path: ['maxCostMicros'], label: 'Cost in the currency of the provider', kind: 'money', about: 'Every model that is used needs a price.' },
        { path: ['maxActiveAgents'], label: 'Active agents', kind: 'number' },
      ],
    },
  ],
};
