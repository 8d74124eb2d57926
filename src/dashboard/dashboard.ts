/** The dashboard as a handler of requests, to be mounted in a program of the user's. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { defaultManager } from '../application/default-manager';
import { QueueManager } from '../application/queue-manager';
import { nearest } from '../base/nearest';
import { type Authorization, MountedAccess } from './access/mounted-access';
import { authorizeMissing, invalidOption } from './errors';
import { requestOfFetch, responseOf } from './http/fetch-handler';
import { respond } from './http/node-handler';
import { Site } from './site';

export interface DashboardOptions<Incoming = IncomingMessage> {
  /**
   * Who comes in. It is asked for each request: for pages, for what is done there, and every five minutes for who watches a page.
   *
   * `'viewer'` looks; `'operator'` also retries, cancels, pauses and runs schedules; `{ role, name }` has what is done logged with who
   * it was. False: nobody, who is answered 403. Where it throws, the answer is 500, and the log says why.
   *
   * @param request of the framework, with what its middleware has put there
   */
  readonly authorize: (request: Incoming) => Authorization | Promise<Authorization>;
  /** Whose connections are shown. Default: the one behind `Queue`, from the first request on. */
  readonly manager?: QueueManager | undefined;
}

/**
 * Answers requests for the dashboard, below the path that it is mounted at, which it finds out by itself.
 *
 * @typeParam Incoming what `authorize` is asked about
 */
export interface Dashboard<Incoming = IncomingMessage> {
  /** For `node:http`, and frameworks that stand on it. It answers every request itself, and never throws. */
  (request: Incoming & IncomingMessage, response: ServerResponse): void;
  /**
   * The same for frameworks on the Fetch standard: `panel.fetch(context.req.raw, context)`. Never rejects.
   *
   * @param subject what `authorize` is asked about. Default: the request; it must be given where `authorize` takes something else
   */
  fetch(
    request: Request,
    ...subject: Request extends Incoming ? [subject?: Incoming] : [subject: Incoming]
  ): Promise<Response>;
  /** Ends what viewers still listen to, so that a server can close. The connections stay as they are. */
  close(): void;
}

/**
 * Makes the dashboard, to be mounted in a program: `app.use('/jobs', dashboard({ authorize }))`. It reads nothing before it is asked, and
 * nothing while nobody looks.
 *
 * @throws E_DASHBOARD_AUTHORIZE there is no function `authorize`, without which anybody could see all jobs
 * @throws E_DASHBOARD_OPTION there is no such option, or `manager` is no QueueManager
 */
export function dashboard<Incoming = IncomingMessage>(options: DashboardOptions<Incoming>): Dashboard<Incoming> {
  const { authorize, manager, ...unknown } = (options as Partial<typeof options> | undefined) ?? {};
  checkNames(unknown);
  if (typeof authorize !== 'function') throw authorizeMissing(authorize);
  if (manager !== undefined && !(manager instanceof QueueManager))
    throw invalidOption('manager', manager, 'give a QueueManager, or leave it out for the one behind Queue');
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

function checkNames(unknown: object): void {
  for (const [option, value] of Object.entries(unknown)) {
    const [meant] = nearest(option, ['authorize', 'manager'], 1);
    const hint = meant === undefined ? 'it takes authorize and manager' : `did you mean ${meant}`;
    throw invalidOption(option, value, `there is no such option; ${hint}`);
  }
}
