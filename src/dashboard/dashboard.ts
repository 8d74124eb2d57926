/** The dashboard as a request handler, to be mounted in a program of the user's. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { defaultManager } from '../application/default-manager';
import { QueueManager } from '../application/queue-manager';
import { nearest } from '../base/text';
import { type Authorization, mountedAccess } from './access/access';
import { authorizeMissing, invalidOption } from './errors';
import { requestOfFetch, respond, responseOf } from './http/handlers';
import { Site } from './site';

export interface DashboardOptions<Incoming = IncomingMessage> {
  /**
   * Decides who may come in. Called for each request: for pages, for actions, and every five minutes for viewers who watch a
   * page.
   *
   * Return `'viewer'` to let them look, `'operator'` to also let them retry, cancel, pause and run schedules, `{ role, name }` to
   * log who did what, or false to refuse them with 403. If it throws, the answer is 500, and the log says why.
   *
   * @param request the framework's request, with everything that its middleware added
   */
  readonly authorize: (request: Incoming) => Authorization | Promise<Authorization>;
  /** The manager whose connections are shown. Default: the one behind `Queue`, from the first request on. */
  readonly manager?: QueueManager | undefined;
}

/**
 * Answers requests for the dashboard, below the path that it is mounted at, which it finds out by itself.
 *
 * @typeParam Incoming what `authorize` is called with
 */
export interface Dashboard<Incoming = IncomingMessage> {
  /** For `node:http`, and frameworks built on it. Answers every request itself, and never throws. */
  (request: Incoming & IncomingMessage, response: ServerResponse): void;
  /**
   * For frameworks built on the Fetch standard: `panel.fetch(context.req.raw, context)`. Never rejects.
   *
   * @param subject what `authorize` is called with. Default: the request; required if `authorize` takes something else
   */
  fetch(
    request: Request,
    ...subject: Request extends Incoming ? [subject?: Incoming] : [subject: Incoming]
  ): Promise<Response>;
  /** Ends the event streams of viewers, so that a server can close. The connections stay open. */
  close(): void;
}

/**
 * Creates the dashboard, to be mounted in a program: `app.use('/jobs', dashboard({ authorize }))`. It reads nothing before the
 * first request, and nothing while nobody looks.
 *
 * @throws E_DASHBOARD_AUTHORIZE there is no function `authorize`, without which anybody could see all jobs
 * @throws E_DASHBOARD_OPTION there is no such option, or `manager` is not a QueueManager
 */
export function dashboard<Incoming = IncomingMessage>(options: DashboardOptions<Incoming>): Dashboard<Incoming> {
  const { authorize, manager, ...unknown } = (options as Partial<typeof options> | undefined) ?? {};
  checkNames(unknown);
  if (typeof authorize !== 'function') throw authorizeMissing(authorize);
  if (manager !== undefined && !(manager instanceof QueueManager))
    throw invalidOption('manager', manager, 'give a QueueManager, or leave it out for the one behind Queue');
  const site = new Site(() => manager ?? defaultManager(), mountedAccess(authorize));
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
