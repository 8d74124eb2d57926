/** Handles requests of the Fetch standard, as Hono, Next.js and others pass them on. */
import { type Answer, type EventSource, MOST_UNSENT, SAFE_HEADERS } from './answer';
import { type DashboardRequest, readForm } from './request';

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
