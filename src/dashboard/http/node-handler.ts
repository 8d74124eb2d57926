/** Takes requests of `node:http`, and of the frameworks that stand on it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { formCut, formTooLarge, formUnreadable } from '../errors';
import { type Answer, type EventSource, MOST_UNSENT, plainAnswer, SAFE_HEADERS } from './answer';
import { type DashboardRequest, LARGEST_FORM } from './request';

/** What frameworks add to a request. */
interface FrameworkRequest extends IncomingMessage {
  /** Of Express: the whole path, and where the dashboard is mounted. */
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  /** Of what has read the body before us. */
  readonly body?: unknown;
}

/**
 * Has a request answered. Never rejects.
 *
 * @param mountPath where the framework does not say it
 */
export async function respond(
  site: { answer(request: DashboardRequest): Promise<Answer> },
  message: IncomingMessage,
  response: ServerResponse,
  mountPath?: string,
): Promise<void> {
  const request = requestOf(message, mountPath);
  const answer = request === undefined ? plainAnswer(400, 'This is no address of a page.') : await site.answer(request);
  // Somebody else has answered meanwhile, such as a middleware that ends what takes too long; or the viewer has gone, and would never
  // be heard to leave.
  if (!response.headersSent && !response.destroyed) sendAnswer(answer, message, response);
}

/** Undefined: it asks for what is no path, such as `*` or `http://elsewhere/`, of which a URL may fail. */
function requestOf(message: IncomingMessage, mountPath: string | undefined): DashboardRequest | undefined {
  const request = message as FrameworkRequest;
  const socket = request.socket as { readonly encrypted?: boolean };
  const target = request.originalUrl ?? request.url ?? '/';
  if (!target.startsWith('/')) return undefined;
  return {
    method: request.method ?? 'GET',
    // Of the host only headers tell; here it is never looked at.
    url: new URL(`http://dashboard${target}`),
    mountPath: request.baseUrl ?? mountPath,
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
  const close = source.open({
    send: (text) => {
      if (response.writableEnded || response.writableLength > MOST_UNSENT) return false;
      response.write(text);
      return true;
    },
    // Whoever does not take what was sent takes no end either, and would never be heard to leave.
    end: () => (response.writableLength > 0 ? response.destroy() : response.end()),
  });
  response.once('close', close);
  // Without this, an answer that cannot be sent any more would end the process.
  response.on('error', close);
}

async function formOf(request: FrameworkRequest, most = LARGEST_FORM): Promise<URLSearchParams> {
  const { body } = request;
  // Of a parser of texts, or one of bytes, such as that of webhooks that are signed.
  if (typeof body === 'string' || Buffer.isBuffer(body)) return new URLSearchParams(body.toString());
  if (typeof body === 'object' && body !== null && Object.keys(body).length > 0) return paramsOf(body);
  // Waiting for what somebody else has read would never end.
  if (request.readableEnded) throw formUnreadable();
  const parts: Buffer[] = [];
  let size = 0;
  try {
    // Destroyed, it could not be answered any more.
    for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > most) break;
      parts.push(part);
    }
  } catch {
    throw formCut();
  }
  if (size > most) {
    // Who does not send the rest reads no answer.
    request.resume();
    throw formTooLarge(most);
  }
  return new URLSearchParams(Buffer.concat(parts).toString());
}

/** A form that a parser of the framework has read: each field a text, or a list of them. */
function paramsOf(body: object): URLSearchParams {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(body))
    for (const one of [value].flat()) if (typeof one === 'string') params.append(name, one);
  return params;
}
