/** An answer of the dashboard, independent of the server that sends it. */
import { unanswered } from '../errors';
import type { Html } from '../html';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | EventSource;
  /** The error, which programs get instead of the body. */
  readonly trouble?: { readonly code: string; readonly message: string };
}

/** Sends events to the sink for as long as the viewer listens. Returns the function to call when the viewer has gone. */
export type EventSource = (sink: EventSink) => () => void;

export interface EventSink {
  /** False if it was not sent, because the viewer has not yet taken earlier events. */
  send(text: string): boolean;
  /** Ends the answer; the viewer's browser reconnects. */
  end(): void;
}

/** Bytes that may wait for a viewer who does not take them. */
export const MOST_UNSENT = 4 * 1024 * 1024;

/** An error in one line. @param code the code of the error, if there is one */
export function plainAnswer(status: number, message: string, code?: string): Answer {
  const body = code === undefined ? `${message}\n` : `${message} (${code})\n`;
  const trouble = { code: code ?? unanswered.code, message };
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body, trouble };
}

export function htmlAnswer(status: number, page: Html): Answer {
  return { status, headers: { 'content-type': 'text/html; charset=utf-8' }, body: page.text };
}

export function jsonAnswer(status: number, data: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(data, undefined, 2)}\n` };
}

/** The answer for a program, with errors as data. */
export function forProgram(answer: Answer): Answer {
  const { status, headers, trouble } = answer;
  if (trouble === undefined) return answer;
  const { headers: added, body } = jsonAnswer(status, { error: trouble });
  return { status, headers: { ...headers, ...added }, body };
}

export function withHeaders(answer: Answer, headers: Answer['headers']): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/** Makes the browser go to a page, by an address relative to the dashboard. */
export function redirect(address: string, headers: Answer['headers'] = {}): Answer {
  return { status: 303, headers: { ...headers, location: address }, body: '' };
}

/** Sent with every answer. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};
