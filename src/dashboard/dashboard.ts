/** The dashboard as a handler of requests, to be mounted in a program of the user's. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { defaultManager } from '../application/default-manager';
import type { QueueManager } from '../application/queue-manager';
import { type Authorization, MountedAccess } from './access/mounted-access';
import { authorizeMissing } from './errors';
import { requestOfFetch, responseOf } from './http/fetch-handler';
import { respond } from './http/node-handler';
import { Site } from './site';

export interface DashboardOptions<Incoming = IncomingMessage> {
  /**
   * Who comes in: `'viewer'` looks, `'operator'` also retries, cancels and pauses; `{ role, name }` has actions logged with who it was.
   * False: nobody. It is asked for each request.
   */
  readonly authorize: (request: Incoming) => Authorization | Promise<Authorization>;
  /** Default: the one behind `Queue`. */
  readonly manager?: QueueManager | undefined;
}

export interface Dashboard<Incoming = IncomingMessage> {
  /** For `node:http`, and frameworks that stand on it. Never throws. */
  (request: Incoming & IncomingMessage, response: ServerResponse): void;
  /**
   * The same for frameworks on the Fetch standard, such as Hono: `panel.fetch(context.req.raw, context)`. Never rejects.
   *
   * @param subject what `authorize` is asked about; default: the request
   */
  fetch(
    request: Request,
    ...subject: Request extends Incoming ? [subject?: Incoming] : [subject: Incoming]
  ): Promise<Response>;
  /** Ends what viewers still listen to. The connections stay as they are. */
  close(): void;
}

/** @throws E_DASHBOARD_AUTHORIZE */
export function dashboard<Incoming = IncomingMessage>(options: DashboardOptions<Incoming>): Dashboard<Incoming> {
  const { authorize, manager } = (options as Partial<typeof options> | undefined) ?? {};
  if (typeof authorize !== 'function') throw authorizeMissing(authorize);
  const site = new Site(() => manager ?? defaultManager(), new MountedAccess(authorize));
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    void respond(site, request, response);
  };
  return Object.assign(handle, {
    fetch: async (request: Request, subject?: unknown) =>
      responseOf(await site.answer(requestOfFetch(request, subject ?? request)), request),
    close: () => site.close(),
  });
}
