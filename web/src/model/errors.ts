// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

/** An error for people: what happened, what to do, and the text of the program that failed. */
export interface Explained {
  title: string;
  todo?: string;
  /** The original text, if the title does not contain it. */
  details?: string;
}

type Rule = { match: RegExp; title: string | ((match: RegExpExecArray) => string); todo?: string };

/** The texts of providers, which differ in wording but not in meaning. The first match counts. */
const ofModels: Rule[] = [
  { match: /read the API key/i, title: 'The API key of the model provider cannot be read.', todo: 'Check the Secret that the ModelProvider names.' },
  { match: /insufficient[_ ]quota|exceeded your current quota|credit balance|billing|payment required/i, title: 'The account at the model provider has no credit left.', todo: 'Add credit, or choose another provider.' },
  { match: /api[ _-]?key|unauthori[sz]ed|authentication|permission[_ ]denied|\b40[13]\b/i, title: 'The model provider does not accept the API key.', todo: 'Check the Secret that the ModelProvider names.' },
  { match: /rate[ _-]?limit|too many requests|\b429\b/i, title: 'The model provider limits the rate.', todo: 'Wait a minute, then retry.' },
  { match: /context[ _]length|maximum context|context window|prompt is too long|too many tokens/i, title: 'The conversation is too long for the model.', todo: 'Start a new chat, or choose a model with a larger context.' },
  { match: /content[ _]filter|content management policy|the model refused|safety/i, title: 'The model or the content filter of its provider refused to answer.', todo: 'Change the wording, or choose another model.' },
  { match: /model.{0,80}(not found|does not exist|not supported|not have access)|unknown model|no such model|\bmodel_not_found\b/i, title: 'The provider does not have this model.', todo: 'Choose another model in the chat, the role or the ModelProvider.' },
  { match: /path .* was not found under it|\b404\b/i, title: 'The address of the model provider does not lead to its API.', todo: 'Check baseURL of the ModelProvider.' },
  { match: /did not complete its reply within|timed? ?out|deadline exceeded/i, title: 'The model provider did not answer in time.', todo: 'Retry, or choose another model.' },
  { match: /no such host|connection refused|connection reset|dial tcp|connection to the provider failed|\bEOF\b|stream ended before/i, title: 'The model provider cannot be reached.', todo: 'Check baseURL of the ModelProvider and the network of the operator, then retry.' },
  { match: /overloaded|capacity|unavailable|internal server error|bad gateway|\b5\d\d\b/i, title: 'The model provider has a problem.', todo: 'Wait a minute, then retry.' },
];

const resources: Record<string, string> = {
  agentchats: 'chats', agentmessages: 'messages', agenttasks: 'tasks', agenttriggers: 'triggers', agentroles: 'roles',
  transcripts: 'transcripts', workspacechanges: 'the changes of a workspace', 'workspacechanges/file': 'the files of a workspace', usages: 'the usage', namespaces: 'namespaces',
};

/** The texts of the API server. */
const ofServer: Rule[] = [
  {
    match: /cannot (\w+) resource "([^"]+)"[^]*?(?:in the namespace "([^"]+)"|at the cluster scope)/,
    title: ([, verb, resource, namespace]) => `You may not ${verb} ${resources[resource!] ?? resource} ${namespace ? `in ${namespace}` : 'in the whole cluster'}.`,
    todo: 'Ask a cluster administrator for the role nestor-user.',
  },
  { match: /ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request: ([^]+)$/, title: ([, why]) => sentence(why!) },
  { match: /admission webhook "[^"]*" denied the request: ([^]+)$/, title: ([, why]) => sentence(why!) },
  { match: /^(?:\w+\.nestor\.dev) "[^"]*" is invalid: \[?([^]+?)\]?$/, title: ([, why]) => `The cluster does not accept it: ${sentence(why!.replace(/^<nil>: /, '').replace(/Invalid value: (?:"(?:[^"\\]|\\.)*"|\w+): /g, ''))}` },
  { match: /request entity too large|request is too large|exceeds the maximum|etcdserver: request is too large/i, title: 'This is too large for the cluster.', todo: 'Send less text, or fewer or smaller attachments.' },
  { match: /quota[^]*exceeded|exceeded quota/i, title: 'The namespace has reached the number of objects that its quota allows.', todo: 'Delete old chats, or ask a cluster administrator for more.' },
  { match: /connection refused|no such host|i\/o timeout|TLS handshake|service unavailable|etcdserver|the server is currently unable/i, title: 'The cluster does not answer at the moment.', todo: 'Try again in a moment.' },
];

function sentence(text: string): string {
  const line = text.trim();
  const upper = /^\w+[.[]\w/.test(line) ? line : line.charAt(0).toUpperCase() + line.slice(1); // a field's name stays as it is
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}

/** Providers and proxies answer with JSON in which the text for people is a field. */
function messageIn(text: string): string {
  const start = text.indexOf('{');
  if (start < 0) return text;
  try {
    const value = JSON.parse(text.slice(start)) as { message?: unknown; error?: unknown };
    const inner = typeof value.error === 'object' && value.error !== null ? (value.error as { message?: unknown }).message : value.error;
    for (const found of [inner, value.message]) if (typeof found === 'string' && found !== '') return found;
  } catch {
    // Text with a brace in it.
  }
  return text;
}

function explain(text: string, rules: Rule[]): Explained {
  for (const { match, title, todo } of rules) {
    const found = match.exec(text);
    if (found) return { title: typeof title === 'string' ? title : title(found), todo, details: text };
  }
  const message = messageIn(text);
  return { title: sentence(message), details: message === text ? undefined : text };
}

/** Explains the failure of a model call. */
export const explainModel = (text: string) => explain(text, ofModels);

/** Explains an answer of the API server. */
export const explainServer = (text: string) => explain(text, ofServer);

/** Turns IterationLimit into words. */
export function words(kind: string): string {
  const spaced = kind.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

/** The failure of a task in one line. */
export function failureLine({ kind, message }: { kind: string; message?: string }): string {
  if (!message) return words(kind);
  return kind === 'ModelError' ? explainModel(message).title : `${words(kind)}: ${message}`;
}

const failedTurn = /^The model could not answer: ([^]*)\nSend a message to try again\.$/;

/** Explains a System message that reports that the model could not answer, if it is one. */
export function explainTurn(content: string): Explained | undefined {
  const found = failedTurn.exec(content);
  return found ? explainModel(found[1]!) : undefined;
}
