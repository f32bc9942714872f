// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// The kinds of history.nestor.dev, served from the ledger.

export type EntryKind =
  | 'Started' | 'User' | 'Assistant' | 'Summary' | 'ToolResult' | 'ChildResult' | 'Question' | 'Approval' | 'Answer'
  | 'Decision' | 'Allowance' | 'Error' | 'Limit' | 'Cancelled' | 'Restarted' | 'Delta';

export interface EntryToolCall {
  id: string;
  tool?: string;
  arguments?: string;
  phase: string;
  result?: string;
  /** What the call changed in a file, as hunks of a unified diff. */
  diff?: string;
}

export interface ChildRun {
  name: string;
  toolCall?: string;
  role?: string;
  tool?: string;
  instruction?: string;
}

export interface TokenUsage {
  promptTokens?: number;
  cachedTokens?: number;
  completionTokens?: number;
  reasoningTokens?: number;
  costMicros?: number;
  currency?: string;
}

export interface Outcome {
  errorKind?: string;
  error?: string;
  summary?: string;
  result?: string;
  details?: string;
  data?: Record<string, unknown>;
  iterations?: number;
  durationMillis?: number;
}

export interface Delta {
  text?: string;
  reasoning?: string;
  toolCall?: { index: number; tool?: string; arguments?: string };
  lost?: boolean;
}

export interface Entry {
  seq: number;
  time: string;
  kind: EntryKind;
  content?: string;
  reasoning?: string;
  images?: { name?: string; mediaType: string; size: number; digest: string }[];
  systemPrompt?: string;
  message?: string;
  user?: string;
  decision?: 'Approve' | 'Deny';
  /** The allowance of the chat that approved the call, or that the entry is about. */
  allowance?: string;
  toolCalls?: EntryToolCall[];
  children?: ChildRun[];
  child?: string;
  error?: string;
  truncated?: boolean;
  usage?: TokenUsage;
  outcome?: Outcome;
  /** The model call that the entry is about. */
  modelCall?: string;
  delta?: Delta;
}

export interface Transcript {
  entries?: Entry[];
  next?: number;
  status: { phase: string; lastSeq?: number };
}

/** A transcript with entries that a search finds. */
export interface FoundTranscript {
  metadata: { name: string; namespace: string; uid: string };
  agent: { kind: 'AgentChat' | 'SubAgent' | 'AgentTask'; name: string; chat?: string; depth?: number };
  /** The newest three of them, newest first. */
  matches: { seq: number; time: string; kind: EntryKind; excerpt: ExcerptPart[] }[];
}

/** A piece of an excerpt; match if it is a word of the search. */
export interface ExcerptPart {
  text: string;
  match?: boolean;
}

export type SegmentKind = 'Model' | 'Tool' | 'Queue' | 'User' | 'Children' | 'Idle';

/** A part of the life of an agent, as the server computed it. Each begins when the one before it ends. */
export interface Segment {
  /** The events that began and ended it. */
  seq: number;
  endSeq?: number;
  kind: SegmentKind;
  reason?: 'Retry' | 'Quota' | 'Slot' | 'Restart' | 'Hold' | 'Paused' | 'Approval' | 'Question';
  startTime: string;
  /** Absent while it lasts. */
  endTime?: string;
  /** The model call in flight, or the one whose reply has the tool calls. */
  modelCall?: string;
  toolCalls?: { id: string; tool: string }[];
  /** The runs that the agent waits for. */
  children?: string[];
}

export interface Trace {
  segments: Segment[];
  next?: number;
}

export interface Tally {
  total: number;
  live?: number;
  succeeded?: number;
  failed?: number;
  cancelled?: number;
  successPercent?: number;
  meanDurationMillis?: number;
}

export type UsagePeriod = 'Hour' | 'Day' | 'Month';

export interface UsageReport {
  metadata: { name: string };
  by: 'Total' | 'Chat' | 'Role' | 'Model';
  value?: string;
  period?: UsagePeriod;
  startTime?: string;
  modelCalls: Tally & {
    promptTokens?: number;
    completionTokens?: number;
    reasoningTokens?: number;
    totalTokens?: number;
    costs?: { currency: string; costMicros: number }[];
    unknownCostCalls?: number;
  };
  runs: Tally;
}

export interface ChangedFile {
  path: string;
  change: 'Added' | 'Modified' | 'Deleted' | 'Renamed';
  from?: string;
  binary?: boolean;
  additions?: number;
  deletions?: number;
}

/** What was changed in a workspace, relative to where it began. */
export interface WorkspaceChanges {
  source: 'Git' | 'EmptyDir' | 'Directory' | 'Claim';
  baseCommit?: string;
  digest?: string;
  captureTime?: string;
  /** Read from the running workspace just now. */
  live: boolean;
  tooLarge?: boolean;
  message?: string;
  files: ChangedFile[];
  diff?: string;
  diffTruncated?: boolean;
}

/** The current content of a file of a workspace. */
export interface WorkspaceFile {
  path: string;
  state: 'Text' | 'Binary' | 'TooLarge' | 'Missing' | 'Unavailable';
  content?: string;
  readTime?: string;
  /** Read from the running workspace just now, not from what was kept. */
  live: boolean;
  message?: string;
}

/** The name of the transcript of an object. */
export const transcriptOf = (kind: 'chat' | 'subagent' | 'task', name: string) => `${kind}.${name}`;
