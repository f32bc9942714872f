// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// The objects as the Kubernetes API serves them, with only the fields that the page uses. The API reference has all of them.

import type { Editable } from '../model/form';

export interface Meta {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  managedFields?: { manager: string }[];
  finalizers?: string[];
  ownerReferences?: { kind: string; name: string; uid: string; controller?: boolean }[];
}

export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime?: string;
}

/** Why a chat or a run makes no progress, as the page's server computed it. */
export interface WaitState {
  /** What ends it. Queued: its turn comes. Waiting and OverQuota: it resumes automatically. Blocked: a person has to create or repair something. Paused: a person has to write. */
  kind: 'Queued' | 'Waiting' | 'OverQuota' | 'Blocked' | 'Paused';
  head: string;
  reason: string;
  message: string;
}

/** The state of a task in one word. */
export type Badge = 'pending' | 'running' | 'delegating' | 'waiting' | 'success' | 'failed' | 'timedout' | 'cancelling' | 'cancelled';
export type State = 'waiting' | 'active' | 'done' | 'failed';

/** A question or an approval that waits for a person. */
export interface Ask {
  kind: 'Question' | 'Approval';
  task: string;
  /** The sub-agent that waits, which may be below the task. */
  agent?: string;
  call?: string;
  tool?: string;
  /** As the model wrote them, unless they are truncated. */
  arguments?: string;
  truncated?: boolean;
  digest?: string;
  question?: string;
  /** Lines on why policies require the approval. */
  reasons?: string[];
  /** The requesters of the work may not decide. */
  denyRequesters?: boolean;
  /** The call can be approved with changed arguments. */
  editable?: boolean;
  /** Why this person may not decide. */
  barred?: 'requester' | 'unknown';
  startTime?: string;
}

/** A chat or a task as a row of a list, as the page's server computed it. */
export interface RunView {
  title: string;
  badge: Badge | 'idle';
  state: State;
  /** Sorts by the first number, then by the second. */
  order: [number, number];
  /** When something last happened in it. */
  activeTime: string;
  asks?: Ask[];
}

/** What is displayed of a task beside the task itself, as the page's server computed it. */
export interface TaskDisplay {
  badge: Badge;
  /** The UID of its sub-agent. */
  agent?: string;
  /** The task whose agent delegated it, and its place among the children of that. */
  parent?: string;
  place: number;
  /** The message that caused it. */
  trigger?: string;
  /** The message below which it is displayed: what was said before it was delegated, or the one that caused it. */
  after?: string;
  /** The message with the question of its agent that waits for an answer. */
  question?: string;
  waitState?: WaitState;
  /** Its usage without that of its children. */
  own: Usage;
  /** What its running tools report. */
  progress?: { call: string; tool: string; text: string }[];
}

/** What is displayed of a message beside the message itself. */
export interface MessageDisplay {
  /** Its place in the conversation. */
  place: number;
  request?: {
    task: string;
    /** The sub-agent that waits. */
    agent?: string;
    call?: string;
    who: string;
    tool: string;
    /** Lines on why policies require the approval. */
    reasons?: string[];
    /** As the model wrote them; complete if whole is true. */
    arguments: string;
    /** True if the arguments match the operator's digest of the call. */
    whole?: boolean;
    digest?: string;
    state: 'open' | 'deciding' | 'approved' | 'denied' | 'over';
    /** The person who decided. */
    user?: string;
    comment?: string;
    /** The decision also allows later calls. */
    allowed?: boolean;
    /** The arguments with which the call was approved instead of its own. */
    edited?: string;
  };
  question?: {
    task: string;
    who: string;
    text: string;
    open?: boolean;
    answer?: string;
    /** The person who gave the answer. */
    user?: string;
  };
  /** It is shown with a request or a question: it is a later part of it, the decision, or the answer. */
  hidden?: boolean;
}

export type Display = TaskDisplay | MessageDisplay;

export interface Resource {
  metadata: Meta;
  /** Set on chats and tasks from the stream. */
  run?: RunView;
  /** Set on chats and tasks from the stream. */
  waitState?: WaitState;
}

export interface Usage {
  promptTokens?: number;
  completionTokens?: number;
  totalTokens?: number;
  modelCalls?: number;
  /** Absent if the price of a call is unknown, which is not the same as free. */
  costMicros?: number;
  currency?: string;
}

export interface Waiting {
  /** The requesters of the work may not decide. */
  denyRequesters?: boolean;
  kind: 'Question' | 'Approval';
  /** The sub-agent that waits, which may be below a standalone task. */
  subAgent?: string;
  text?: string;
  tool?: string;
  arguments?: Record<string, unknown>;
  argumentsOmitted?: boolean;
  toolCall?: string;
  argumentsDigest?: string;
  startTime?: string;
}

export interface Workspace {
  git?: { url: string; ref?: string; secretName?: string };
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
  emptyDir?: { sizeLimit?: string };
  directory?: { path: string };
  idleTimeoutSeconds?: number;
}

export interface Chat extends Resource {
  spec: {
    workspace?: Workspace;
    role?: string;
    modelProvider?: string;
    model?: string;
    user?: string;
    limits?: { maxDepth?: number; maxParallelTasks?: number; maxTotalTokens?: number; maxCostMicros?: number };
  };
  status?: {
    phase?: 'Idle' | 'Running' | 'Waiting';
    /** Proposed by the model. */
    title?: string;
    waiting?: (Waiting & { task: string })[];
    requesters?: string[];
    allowances?: { name: string; tool: string; arguments?: ArgumentPattern[]; user: string; startTime?: string }[];
    tasks?: Partial<Record<'pending' | 'running' | 'waiting' | 'success' | 'failed' | 'cancelled', number>>;
    messages?: number;
    lastMessage?: string;
    /** When the last message was created. Older operators do not write it. */
    lastMessageTime?: string;
    usage?: Usage;
    conditions?: Condition[];
  };
}

export interface Attachment {
  name: string;
  mediaType: string;
  /** The content in base64. */
  data?: string;
  configMapKeyRef?: { name: string; key: string };
}

/** Restricts an argument of the calls that an allowance approves. In the pattern, * stands for any characters, \\* for an asterisk. */
export interface ArgumentPattern {
  name: string;
  pattern: string;
}

export interface Message extends Resource {
  spec: {
    chat?: string;
    task?: string;
    role?: 'User' | 'Assistant' | 'System';
    user?: string;
    content?: string;
    attachments?: Attachment[];
    approval?: { task: string; toolCall?: string; argumentsDigest?: string; decision: 'Approve' | 'Deny'; comment?: string; allow?: { arguments?: ArgumentPattern[] } };
    revoke?: { allowance: string };
    cancel?: { task?: string };
    inReplyTo?: string;
  };
  status?: { phase?: 'Pending' | 'Handled' | 'Rejected'; reason?: string; conditions?: Condition[] };
}

export interface Result {
  summary?: string;
  details?: string;
  filesModified?: string[];
  filesCreated?: string[];
  testsRun?: number;
  testsPassed?: number;
  warnings?: string[];
  suggestions?: string[];
  data?: Record<string, unknown>;
  dataOmitted?: boolean;
}

export type TaskPhase = 'Pending' | 'Running' | 'Waiting' | 'Success' | 'Failed' | 'Cancelled';

export interface Task extends Resource {
  spec: {
    chat?: string;
    type: 'Agent' | 'Tool';
    role?: string;
    tool?: string;
    arguments?: unknown;
    instruction?: string;
    modelProvider?: string;
    contextFiles?: string[];
    successCriteria?: string;
    context?: string;
    continueFrom?: string;
    triggerMessage?: string;
    group?: string;
    cancel?: boolean;
    user?: string;
    userGroups?: string[];
    fireUser?: string;
    workspace?: Workspace;
    ttlSecondsAfterFinished?: number;
    model?: string;
    fork?: { uid: string; task?: string; subAgent?: string; sequence?: number; modelReplies?: string; toolResults?: string };
  };
  status?: {
    phase?: TaskPhase;
    subAgent?: string;
    waiting?: Waiting;
    progress?: string;
    result?: Result;
    error?: { kind: string; message?: string };
    iterations?: number;
    durationSeconds?: number;
    usage?: Usage;
    startTime?: string;
    completionTime?: string;
    conditions?: Condition[];
  };
}

export type ToolCallPhase = 'Pending' | 'WaitingForApproval' | 'Running' | 'Success' | 'Failed' | 'Denied' | 'Unknown';

export interface SubAgent extends Resource {
  spec: {
    chat?: string;
    task: string;
    parent?: string;
    role: string;
    depth: number;
    instruction?: string;
    modelProvider?: string;
    model?: string;
    limits?: { maxIterations?: number; maxDurationSeconds?: number };
  };
  status?: {
    phase?: string;
    toolCalls?: { id: string; tool: string; arguments?: Record<string, unknown>; argumentsOmitted?: boolean; phase: ToolCallPhase; progress?: string; result?: string; error?: string; time?: string }[];
    children?: { pending?: number; finished?: number };
    summary?: string;
    question?: string;
    result?: Result;
    error?: { kind: string; message?: string };
    bailoutReason?: string;
    iterations?: number;
    usage?: Usage;
    startTime?: string;
    completionTime?: string;
    conditions?: Condition[];
  };
}

export interface RoleSpec {
  displayName?: string;
  description?: string;
  icon?: string;
  model?: string;
  modelProvider?: string;
  tools?: { allow?: string[]; deny?: string[] };
  approval?: { mode?: string; tools?: string[] };
  delegation?: { roles?: string[] };
  asTool?: { name: string };
  review?: { role: string; maxRounds?: number; onReject?: 'Warn' | 'Fail' };
  outputSchema?: { properties?: Record<string, unknown> };
  limits?: { maxIterations?: number; maxDurationSeconds?: number; maxTotalTokens?: number; maxCostMicros?: number };
}

/** A recorded revision of a role. */
export interface Revision {
  revision: string;
  number: number;
  creationTime: string;
  states?: ('Current' | 'Promoted' | 'Previous' | 'Rejected')[];
}

/** The revisions of a role, newest first. */
export interface Revisions {
  items: Revision[] | null;
  gated: boolean;
  /** The revision of a promotion that the operator has not handled yet. */
  promoting?: string;
}

/** A step of a run in a comparison. Long texts are cut. */
export interface Step {
  seq: number;
  kind: string;
  text?: string;
  tool?: string;
  arguments?: string;
  decision?: string;
  phase?: string;
  result?: string;
  usage?: Figures;
  durationMillis: number;
}

/** The usage of a step, or of a run. */
export interface Figures {
  tokens: number;
  /** Millionths, by currency. */
  costMicros?: Record<string, number>;
  unknownCost?: boolean;
}

/** One of the runs of a comparison. */
export interface Side {
  transcript: string;
  role?: string;
  modelProvider?: string;
  model?: string;
  systemPrompt?: string;
  phase: string;
  modelCalls: number;
  toolCalls: number;
  usage: Figures;
  durationMillis: number;
  waitedMillis?: number;
}

/** Two runs, compared by the server of the page. */
export interface Comparison {
  same: boolean;
  /** Counted from 1. */
  firstDifference?: number;
  first: Side;
  second: Side;
  rows: { change: 'Same' | 'Changed' | 'Removed' | 'Added'; differs?: string[]; first?: Step; second?: Step; /** The differences of fields by lines, as a unified diff. */ details?: Record<string, string> }[];
}

export interface Role extends Resource {
  spec: RoleSpec;
  status?: { skills?: { name: string; description: string; configMapName: string }[]; conditions?: Condition[] };
}

export interface TriggerSpec {
  schedule?: { cron: string; timeZone?: string };
  webhook?: { format?: string };
  watch?: { kind: string };
  suspend?: boolean;
  task?: { role: string };
  message?: { chat: string };
}

export interface Trigger extends Resource {
  spec: TriggerSpec;
  status?: {
    lastFiredTime?: string;
    nextScheduleTime?: string;
    active?: string[];
    firings?: number;
    dropped?: number;
    lastDrop?: { id: string; time: string; reason: string; message?: string };
    pending?: { id: string; name: string; uid?: string }[];
    lastFireID?: string;
    conditions?: Condition[];
  };
}

/** How the runs of one revision went in an evaluation. */
export interface EvaluationLane {
  passed?: number;
  failed?: number;
  inconclusive?: number;
  /** A percentage of the runs that have an outcome. */
  passRate?: number;
  totalTokens?: number;
  costMicros?: number;
  currency?: string;
  averageDurationSeconds?: number;
}

/** How both revisions did in a case of an evaluation. */
export interface CaseResult {
  case: string;
  task: string;
  outcome: 'Regressed' | 'Failed' | 'Inconclusive' | 'Passed';
  baselinePassed?: number;
  candidatePassed?: number;
  candidateTask?: string;
  message?: string;
}

export interface Evaluation extends Resource {
  spec: {
    role: string;
    toolResults?: 'Recorded' | 'ReadOnly';
    repeats?: number;
    thresholds?: { minPassRate?: number; maxRegressions?: number; maxCostIncreasePercent?: number; maxInconclusive?: number };
  };
  status?: {
    runs?: unknown[];
    candidateRevision?: string;
    baselineRevision?: string;
    startTime?: string;
    completionTime?: string;
    completedTasks?: number;
    totalTasks?: number;
    verdict?: 'Passed' | 'Failed' | 'Inconclusive';
    regressions?: number;
    costIncreasePercent?: number;
    baseline?: EvaluationLane;
    candidate?: EvaluationLane;
    /** The worst first. */
    cases?: CaseResult[];
    conditions?: Condition[];
  };
}

export interface ToolInfo {
  name: string;
  description?: string;
  readOnly?: boolean;
  withheld?: boolean;
  /** The JSON schema of the arguments, if it is known. */
  inputSchema?: unknown;
  schemaOmitted?: boolean;
}

export interface ToolServer extends Resource {
  spec: { url: string; transport?: string };
  status?: { tools?: ToolInfo[]; toolCount?: number; toolsDigest?: string; conditions?: Condition[] };
}

export interface Provider extends Resource {
  spec: { api?: string; baseURL?: string; defaultModel?: string; currency?: string; models?: { name: string }[] };
  status?: { conditions?: Condition[] };
}

export interface Quota extends Resource {
  spec: { period: 'Hour' | 'Day' | 'Month'; maxTokens?: number; maxCostMicros?: number; maxActiveAgents?: number };
  status?: {
    used?: { tokens?: number; costMicros?: number; currency?: string };
    remaining?: { tokens?: number; costMicros?: number };
    activeAgents?: number;
    resetTime?: string;
    conditions?: Condition[];
  };
}

/** A policy that applies in a namespace. */
export interface AppliedPolicy {
  namespace: string;
  name: string;
  mode: 'Enforce' | 'Audit';
  tools?: string[];
  roles?: string[];
  rules: string[];
  ready: Condition['status'];
  reason?: string;
  message?: string;
}

export interface AppliedPolicies {
  items: AppliedPolicy[];
  /** Why policies of the operator's namespace are not listed. */
  unreadable?: string;
}

type PolicyAction = 'Deny' | 'RequireApproval' | 'Unknown';

/** What a policy would have done with recorded calls. */
export interface PolicyTrial {
  runs: number;
  calls: number;
  matched: number;
  denied: number;
  approvals: number;
  unknown: number;
  failed: number;
  findings?: {
    time: string;
    transcript: string;
    toolCall: string;
    tool: string;
    arguments?: unknown;
    contentLabels?: string[];
    action: PolicyAction;
    verdicts: { policy: string; rule?: string; message?: string; action: PolicyAction }[];
    unknown?: string[];
  }[];
  /** There was no time to read all calls. */
  incomplete?: boolean;
}

/** The built-in roles and tools, which are not resources. */
export interface Catalog {
  roles: (RoleSpec & { name: string })[];
  tools: ToolInfo[];
  workspaceTools: ToolInfo[];
}

export interface Person {
  user: string;
  /** Groups of the user, for spec.userGroups of a task. */
  groups?: string[];
  signIn: 'link' | 'token' | 'oidc';
  namespace: string;
  /** The namespace does not exist. */
  namespaceMissing?: boolean;
  version: string;
  /** Where programs reach the gateway, if that is known. */
  gatewayURL?: string;
  /** The workspace that is proposed for new chats. */
  defaultWorkspace?: Workspace;
  /** First messages to propose. */
  ideas?: string[];
  may: Record<'readChats' | 'watchChats' | 'readMessages' | 'createChats' | 'renameChats' | 'deleteChats' | 'createMessages' | 'readTranscripts' | 'readEvaluations' | 'readTriggers' | 'fireTriggers' | 'createTasks' | 'promote/agentroles' | `${'create' | 'update'}/${Editable}`, boolean>;
}

export const annotationTitle = 'nestor.dev/title';
export const annotationFirstWords = 'nestor.dev/first-words';
export const labelChat = 'nestor.dev/chat';
export const labelParent = 'nestor.dev/parent';
export const labelTrigger = 'nestor.dev/trigger';
export const annotationFire = 'nestor.dev/fire';
export const annotationFireResult = 'nestor.dev/fire-result';
export const annotationFiring = 'nestor.dev/firing';
export const annotationStopped = 'nestor.dev/stopped';
export const annotationTruncated = 'nestor.dev/truncated';
export const annotationCall = 'nestor.dev/call';
