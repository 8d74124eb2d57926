/** Handles requests of `node:http` and of the Fetch standard, and of frameworks built on these. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { formUnreadable } from '../errors';
import { type Answer, type EventSource, MOST_UNSENT, plainAnswer, SAFE_HEADERS } from './answer';
import { type DashboardRequest, readForm } from './request';

/** What frameworks add to a request. */
interface FrameworkRequest extends IncomingMessage {
  /** From Express: the whole path, and where the dashboard is mounted. */
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  /** From a body parser that ran before us. */
  readonly body?: unknown;
}

/** Never rejects. @param mountPath used if the framework does not say it */
export async function respond(
  site: { answer(request: DashboardRequest): Promise<Answer> },
  message: IncomingMessage,
  response: ServerResponse,
  mountPath?: string,
): Promise<void> {
  const request = requestOf(message, mountPath);
  const answer =
    request === undefined ? plainAnswer(400, 'This is not the address of a page.') : await site.answer(request);
  // Something else may have answered meanwhile, such as a timeout middleware; or the viewer has gone, and we would never see them
  // leave.
  if (!response.headersSent && !response.destroyed) sendAnswer(answer, message, response);
}

/** Undefined if the request target is not a path, such as `*` or `http://elsewhere/`, which could make URL throw. */
function requestOf(message: IncomingMessage, mountPath: string | undefined): DashboardRequest | undefined {
  const request = message as FrameworkRequest;
  const socket = request.socket as { readonly encrypted?: boolean };
  const target = request.originalUrl ?? request.url ?? '/';
  if (!target.startsWith('/')) return undefined;
  const mount = request.baseUrl ?? mountPath;
  return {
    method: request.method ?? 'GET',
    // The host is only in the headers, and never looked at here.
    url: new URL(`http://dashboard${target}`),
    // Encoded like the address that it is compared with.
    mountPath: mount && new URL(`http://dashboard${mount}`).pathname,
    headers: (name) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    isSecure: socket.encrypted === true || request.headers['x-forwarded-proto'] === 'https',
    address: request.socket.remoteAddress,
    form: (most) => formOf(request, most),
    subject: request,
  };
}

function sendAnswer(answer: Answer, request: IncomingMessage, response: ServerResponse): void {
  const { status, headers, body } = answer;
  response.statusCode = status;
  for (const [name, value] of Object.entries({ ...SAFE_HEADERS, ...headers }))
    response.setHeader(name, typeof value === 'string' ? value : [...value]);
  if (request.method === 'HEAD') response.end();
  else if (typeof body === 'string') response.end(body);
  else sendEvents(body, response);
}

function sendEvents(source: EventSource, response: ServerResponse): void {
  response.flushHeaders();
  const close = source({
    send: (text) => {
      if (response.writableEnded || response.writableLength > MOST_UNSENT) return false;
      response.write(text);
      return true;
    },
    // A viewer who does not take what was sent would not take the end either, and we would never see them leave.
    end: () => (response.writableLength > 0 ? response.destroy() : response.end()),
  });
  response.once('close', close);
  // Without this, an answer that can no longer be sent would end the process.
  response.on('error', close);
}

async function formOf(request: FrameworkRequest, most: number | undefined): Promise<URLSearchParams> {
  const { body } = request;
  // From a parser of texts or bytes, as used for signed webhooks.
  if (typeof body === 'string' || Buffer.isBuffer(body)) return new URLSearchParams(body.toString());
  if (typeof body === 'object' && body !== null && Object.keys(body).length > 0) return paramsOf(body);
  // Waiting for a body that something else has read would never end.
  if (request.readableEnded) throw formUnreadable();
  try {
    // A destroyed request could no longer be answered.
    return await readForm(request.iterator({ destroyOnReturn: false }), most);
  } finally {
    // A viewer who is still sending does not read the answer.
    request.resume();
  }
}

/** A form that a parser of the framework has read: each field is a text or a list of texts. */
function paramsOf(body: object): URLSearchParams {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(body))
    for (const one of [value].flat()) if (typeof one === 'string') params.append(name, one);
  return params;
}

/** Handles requests of the Fetch standard, as Hono, Next.js and others pass them on. */
export function requestOfFetch(request: Request, subject: unknown): DashboardRequest {
  const url = new URL(request.url);
  return {
    method: request.method,
    url,
    mountPath: undefined,
    // A request that was constructed by hand lacks the header.
    headers: (name) => request.headers.get(name) ?? (name === 'host' ? url.host : undefined),
    isSecure: url.protocol === 'https:' || request.headers.get('x-forwarded-proto') === 'https',
    address: undefined,
    form: (most) => readForm((request.body ?? []) as AsyncIterable<Uint8Array>, most),
    subject,
  };
}

export function responseOf({ status, headers, body }: Answer, { method }: Request): Response {
  const all = new Headers(SAFE_HEADERS);
  for (const [name, value] of Object.entries(headers))
    if (typeof value === 'string') all.set(name, value);
    else for (const one of value) all.append(name, one);
  const content = (): string | ReadableStream => (typeof body === 'string' ? body : streamOf(body));
  return new Response(method === 'HEAD' ? null : content(), { status, headers: all });
}

function streamOf(source: EventSource): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let close: () => void = () => undefined;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let hasEnded = false;
        const end = (): void => {
          if (hasEnded) return;
          hasEnded = true;
          controller.close();
          close();
        };
        close = source({
          send(text) {
            if (hasEnded || (controller.desiredSize ?? 0) <= 0) return false;
            controller.enqueue(encoder.encode(text));
            return true;
          },
          end,
        });
      },
      cancel: () => close(),
    },
    { highWaterMark: MOST_UNSENT, size: (chunk) => chunk?.length ?? 0 },
  );
}
